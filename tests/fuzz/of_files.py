"""Harnesses of files: templates, configurations, releases, bundles, backups, journals."""

from __future__ import annotations

import io
import json
import tarfile
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from kapy.apiserver.store.errors import StoreError
from kapy.apps.backup import back_up
from kapy.apps.manifests import BadManifest, read_manifests
from kapy.apps.restore import UnusableBackup, restore
from kapy.apps.settings import Folder
from kapy.clusterctl.bundle import Bundle, Release
from kapy.clusterctl.bundle.file import open_bundle, save
from kapy.clusterctl.components.reading import components_of
from kapy.clusterctl.config import Config
from kapy.clusterctl.config.file import _parse as parsed_config
from kapy.clusterctl.config.images import reference
from kapy.clusterctl.convert import convert
from kapy.clusterctl.envsubst import defaults, parse, substitute
from kapy.clusterctl.errors import ClusterctlError, MoveError
from kapy.clusterctl.metadata import metadata_of
from kapy.clusterctl.move.directory import documents_in
from kapy.clusterctl.move.journal import Mode, MoveDone, MoveStarted, Place, _entries
from kapy.clusterctl.provider import Provider, ProviderType
from kapy.clusterctl.templates import template_of
from kapy.clusterctl.variables import variables_of
from kapy.kube.errors import KapyError
from kapy.kube.yaml import YamlError
from tests.fuzz.harness import Harness


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _envsubst(data: bytes) -> str:
    nodes = parse(_text(data))
    defaults(nodes)
    return substitute(nodes, {"A": "value", "B": "", "C": "é/x"})


def _template(data: bytes) -> None:
    template_of(_text(data), {"A": "value"}, "ns", "x.yaml")


def _metadata(data: bytes) -> None:
    metadata = metadata_of(data, "x")
    metadata.newest("v1beta2")
    metadata.series_of("v1.2.3")


@lru_cache(maxsize=1)
def _config() -> Config:
    return Config(parsed_config("x", ".yaml", b""), {"A": "value"})


_PROVIDER = Provider("x", ProviderType.INFRASTRUCTURE, "https://example.dev/x")


def _components(data: bytes) -> None:
    components_of(_text(data), _PROVIDER, "v1.0.0", _config(), source="x.yaml")


def _configuration(data: bytes) -> None:
    for end in (".yaml", ".json", ".toml"):
        try:
            file = parsed_config("x", end, data)
            config = Config(file, {"HOME": "/nowhere"})
            for name in ("providers", "cert_manager", "overrides_folder", "images"):
                try:
                    getattr(config, name)
                except KapyError:
                    continue
            config.images.override("x", "a.b/c:d")
        except KapyError:
            continue


def _image(data: bytes) -> str:
    return str(reference(_text(data)))


def _convert(data: bytes) -> str:
    return convert(_text(data), "v1beta2").text


def _manifests(data: bytes) -> None:
    read_manifests(_text(data), "x")


def _encoded(entry: Any) -> bytes:
    return msgspec.json.encode(entry) + b"\n"


def _journal(data: bytes) -> None:
    _entries(Path("x"), data)


def _moved(data: bytes) -> None:
    with tempfile.TemporaryDirectory(prefix="kapy-fuzz-") as folder:
        (Path(folder) / "a.yaml").write_bytes(data)
        list(documents_in(Path(folder)))


def _bundle(data: bytes) -> None:
    with tempfile.TemporaryDirectory(prefix="kapy-fuzz-") as folder:
        path = Path(folder) / "bundle"
        path.write_bytes(_packed(data))
        bundle = open_bundle(path)
        for release in bundle.releases:
            assert all("/" not in name and name not in ("", ".", "..") for name in release.files)


def _packed(data: bytes) -> bytes:
    """A tar as it is; or JSON of names and contents, as a tar."""
    try:
        members = json.loads(data)
    except ValueError:
        return data
    if not isinstance(members, dict):
        return data
    result = io.BytesIO()
    with tarfile.open(fileobj=result, mode="w") as tar:
        for name, content in members.items():
            raw = content if isinstance(content, str) else json.dumps(content)
            value = name.replace("\0", "")[:300].encode("utf-8", "replace").decode()
            member = tarfile.TarInfo(value)
            encoded = raw.encode("utf-8", "replace")
            member.size = len(encoded)
            tar.addfile(member, io.BytesIO(encoded))
    return result.getvalue()


def _members(archive: bytes) -> Mapping[str, Any]:
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:*") as tar:
        return {member.name: tar.extractfile(member).read().decode() for member in tar}  # type: ignore[union-attr]


@lru_cache(maxsize=1)
def _bundles() -> tuple[bytes, ...]:
    release = Release("infrastructure-x", "v1.0.0", "c.yaml", {"c.yaml": b"a: b"}, _PROVIDER)
    with tempfile.TemporaryDirectory(prefix="kapy-fuzz-") as folder:
        path = Path(folder) / "bundle"
        save(Bundle((release,), ("a.b/c:d",)), path)
        archive = path.read_bytes()
    return json.dumps(_members(archive)).encode(), archive


def _restore(data: bytes) -> None:
    with tempfile.TemporaryDirectory(prefix="kapy-fuzz-") as place:
        above = Path(place)
        folder = Folder(above / "plane")
        folder.path.mkdir()
        try:
            restore(folder, io.BytesIO(_packed(data)))
        finally:
            assert sorted(path.name for path in above.iterdir()) == ["plane"]


@lru_cache(maxsize=1)
def _backups() -> tuple[bytes, ...]:
    from kapy._aio.clock import system_clock
    from kapy.apiserver.server import Server

    with tempfile.TemporaryDirectory(prefix="kapy-fuzz-") as place:
        folder = Folder(Path(place))
        folder.make()
        Server.open(folder.data, clock=system_clock).close()
        backups = io.BytesIO()
        back_up(folder, backups, datetime(2026, 1, 1, tzinfo=UTC))
    archive = backups.getvalue()
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:*") as tar:
        manifest = tar.extractfile("manifest.json").read()  # type: ignore[union-attr]
    small = json.loads(manifest)
    small["files"] = {"data/store.db": {"size": 0, "sha256": "x"}}
    return (
        json.dumps({"manifest.json": small, "data/store.db": "x"}).encode(),
        json.dumps({"manifest.json": small, "../x": "x"}).encode(),
        archive[:20_000],
    )


_CLUSTER = b"""apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: "${A}"} # a comment
spec:
  # another
  clusterNetwork: {pods: {cidrBlocks: ["10.0.0.0/8"]}}
  topology: {class: x, version: v1.30.0, workers: {machineDeployments: [{class: a, name: b}]}}
"""

HARNESSES = (
    Harness(
        "envsubst",
        _envsubst,
        (ClusterctlError,),
        (
            *(
                b"${A} ${B:=b} ${B:-${A}} $${x}",
                b"${#A}${A:1}${A:1:2}${A:-3}",
                b"${A^}${A^^}${A,,}",
            ),
            *(b"${A#v*}${A##?}${A%e}${A%%[a-z]*}", b"${A/l/x}${A//[!a]/y}${A/#v/}${A/%e/z}"),
            *(b"${A/\\//x}", b"${", b"${A:=}", b"${C:1:1}"),
        ),
        (b"${", b"}", b":=", b":-", b"//", b"##", b"%%", b"^^", b"\\", b"[!", b"$$", b"*", b"?"),
    ),
    Harness("cluster-template", _template, (ClusterctlError,), (_CLUSTER, b"a: ${A}\n---\nb: c")),
    Harness(
        "release-metadata",
        _metadata,
        (ClusterctlError,),
        (
            b"apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n"
            b"- {major: 1, minor: 2, contract: v1beta2}\n",
        ),
    ),
    Harness(
        "components",
        _components,
        (ClusterctlError, KapyError),
        (
            b"apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n---\napiVersion: apps/v1\n"
            b"kind: Deployment\nmetadata: {name: a, namespace: x}\nspec: {template: {spec: "
            b"{containers: [{name: manager, image: 'a.b/c:d', args: [--namespace=${A:=b}]}]}}}\n"
            b"---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\n"
            b"metadata: {name: x}\nsubjects: [{kind: ServiceAccount, name: a, namespace: x}]\n"
            b"---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
            b"metadata: {name: x, annotations: {cert-manager.io/inject-ca-from: x/y}}\n"
            b"spec: {group: g, conversion: {webhook: {clientConfig: {service: {name: a}}}}}\n"
            b"---\napiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: c, "
            b"namespace: x}\nspec: {dnsNames: [a.x.svc, a.x.svc.cluster.local]}\n",
        ),
    ),
    Harness(
        "clusterctl-config",
        _configuration,
        (),
        (
            b"providers:\n- {name: a, url: 'https://x.y/z', type: InfrastructureProvider}\n"
            b"images:\n  all: {repository: a.b/c, tag: d}\ncert-manager: {url: 'https://a', "
            b"version: v1, timeout: 10m}\noverridesFolder: ${HOME}/x\nA: 1.5\n",
            b'{"providers": [{"name": "a", "url": "/x/{version}", "type": "CoreProvider"}]}',
            b'a = 1\n[images.all]\ntag = "x"\n',
        ),
    ),
    Harness(
        "image",
        _image,
        (ClusterctlError,),
        (b"docker.io/library/nginx:1.29", b"a.b:5000/c/d@sha256:" + b"0" * 64, b"localhost/x"),
    ),
    Harness("convert", _convert, (KapyError,), (_CLUSTER.replace(b"${A}", b"a"),)),
    Harness(
        "manifests",
        _manifests,
        (BadManifest, YamlError),
        (_CLUSTER, b"kind: List\nitems: [{apiVersion: v1, kind: x, metadata: {name: a}}]"),
    ),
    Harness(
        "move-journal",
        _journal,
        (MoveError,),
        (
            _encoded(MoveStarted("a", Mode.CLUSTERS, "", Place(), Place())) + _encoded(MoveDone()),
            b"{}\n",
        ),
    ),
    Harness(
        "move-folder",
        _moved,
        (MoveError, YamlError),
        (b"apiVersion: v1\nkind: x\nmetadata: {name: a, namespace: b, uid: c}\n",),
    ),
    Harness("bundle", _bundle, (ClusterctlError,), _bundles(), structured=True),
    Harness(
        "backup",
        _restore,
        (UnusableBackup, StoreError),
        _backups(),
        (b"data/store.db", b"manifest.json", b"../", b"pki/ca.crt"),
        structured=True,
    ),
    Harness(
        "template-variables",
        lambda data: variables_of(_text(data)),
        (ClusterctlError,),
        (_CLUSTER,),
    ),
)
