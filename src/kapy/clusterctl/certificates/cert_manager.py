"""Tests, installs and upgrades cert-manager in a management cluster, as upstream does.

Upstream: `cmd/clusterctl/client/cluster/cert_manager.go`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from kapy.client.client import Client
from kapy.clusterctl.applying import NotApplied, ObjectApplier
from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.clusterctl.certificates import CERTIFICATES, GROUP, ISSUERS, CertificateError
from kapy.clusterctl.components import CLUSTERCTL_LABEL, CORE_LABEL
from kapy.clusterctl.components.images import images_of, rewrite
from kapy.clusterctl.config import Config
from kapy.clusterctl.inventory import BUILT_IN
from kapy.clusterctl.labelled import Labelled, labelled_objects
from kapy.clusterctl.manifests import objects_of
from kapy.clusterctl.migration import migrate
from kapy.clusterctl.progress import Progress
from kapy.clusterctl.repository import repository_at
from kapy.clusterctl.retry import retry
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import CRDS, NAMESPACES, Resource
from kapy.kube.version import DIFFERENT, InvalidVersion, Version, compare, parse_tolerant

VERSION: Final = "cert-manager.clusterctl.cluster.x-k8s.io/version"
"""Annotation with the version, on all objects of a cert-manager that clusterctl installed."""

NAME: Final = "app.kubernetes.io/name"
_NAMESPACE: Final = "cert-manager"
_LABEL: Final = f"{CORE_LABEL}=cert-manager"
_BEFORE_ANNOTATIONS: Final = "v0.11.0"
_TEST_NAMESPACE: Final = "cert-manager-test"
_KEPT_KINDS: Final = (
    "CustomResourceDefinition",
    "Namespace",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
)
"""Kinds that an upgrade keeps: CRDs and the Namespace hold users' objects, webhook configurations
guard them."""
_SERVER_KINDS: Final = ("Endpoints", "EndpointSlice")
_PAUSE: Final = 1.0


@dataclass(frozen=True)
class Plan:
    """The upgrade of cert-manager that `ensure_latest` would do. external: clusterctl did not
    install it."""

    external: bool = False
    current: str = ""
    target: str = ""
    needed: bool = False


async def is_there(client: Client) -> bool:
    """Return whether cert-manager's CRDs exist and were not defined by a kapy plane itself."""
    definition = await _definition(client)
    return definition is not None and not of_plane(definition)


async def is_built_in(client: Client) -> bool:
    """Return whether a kapy plane serves the kinds of cert-manager itself."""
    definition = await _definition(client)
    return definition is not None and of_plane(definition)


def of_plane(definition: Document) -> bool:
    """Return whether a cert-manager CRD was defined by a kapy plane and cert-manager was not
    installed since.

    cert-manager's own CRDs carry its name in a label.
    """
    metadata = definition["metadata"]
    labels = metadata.get("labels") or {}
    return BUILT_IN in (metadata.get("annotations") or {}) and NAME not in labels


async def _definition(client: Client) -> Document | None:
    try:
        return await retry(lambda: client.get(CRDS, Key("", CERTIFICATES.group_resource)))
    except NotFound:
        return None


async def images(client: Client, config: Config) -> list[str]:
    """Return the images that installing cert-manager needs; none if its namespace exists."""
    try:
        await retry(lambda: client.get(NAMESPACES, Key("", _NAMESPACE)))
    except NotFound:
        return list(images_of(await _manifest(config)))
    return []


async def ensure_installed(client: Client, config: Config, progress: Progress) -> None:
    """Install cert-manager unless it already works. Raises CertificateError."""
    settings = config.cert_manager
    if settings.externally_provisioned:
        await _until_it_works(client, config, progress)
    elif await is_built_in(client) or not await _works(client):
        await _install(client, config, await _manifest(config), progress)
        return
    progress("Skipping installing cert-manager as it is already installed")


async def plan(client: Client, config: Config) -> Plan:
    """Return the plan of `ensure_latest`."""
    result, _ = await _compute_plan(client, config)
    return result


async def ensure_latest(client: Client, config: Config, progress: Progress) -> None:
    """Upgrade a cert-manager that clusterctl installed if it is older than configured."""
    result, there = await _compute_plan(client, config)
    if result.external:
        return
    progress("Checking if cert-manager needs upgrade...")
    if not result.needed:
        progress("Cert-manager is already up to date")
        return
    manifest = await _manifest(config)
    await migrate(client, manifest, progress)
    progress("Deleting cert-manager", version=result.current)
    await bounded_gather(
        partial(_delete, client, labelled) for labelled in there if labelled.kind not in _KEPT_KINDS
    )
    await _install(client, config, manifest, progress)


async def _compute_plan(client: Client, config: Config) -> tuple[Plan, list[Labelled]]:
    there = await labelled_objects(client, _LABEL, ignored=(GROUP, f"acme.{GROUP}"))
    there = [
        labelled for labelled in there if labelled.key.namespace in ("", _NAMESPACE, "kube-system")
    ]
    if not there:
        return Plan(external=True), []
    target = config.cert_manager.version
    current, needed = _compare(there, await _manifest(config), target)
    return Plan(current=current, target=target, needed=needed), there


def _compare(
    existing: Sequence[Labelled], manifest: Sequence[Document], target: str
) -> tuple[str, bool]:
    """Return the installed version, and whether it must be replaced."""
    relevant = [labelled for labelled in existing if labelled.kind not in _SERVER_KINDS]
    wanted = _version(target, "config version")
    current = ""
    for labelled in relevant:
        current = (labelled.document["metadata"].get("annotations") or {}).get(VERSION, "")
        if not current:
            return _BEFORE_ANNOTATIONS, True
        order = compare(
            _version(current, f"{labelled.kind} {labelled.key}"), wanted, build_tags=True
        )
        if order < 0 or order == DIFFERENT:
            return current, True
        if order == 0 and _differs(relevant, manifest):
            return current, True
    return current, False


def _differs(existing: Sequence[Labelled], manifest: Sequence[Document]) -> bool:
    """Return whether an installation of the same version is incomplete, or has other images."""
    documents = [{"kind": labelled.kind, **labelled.document} for labelled in existing]
    return len(existing) != len(manifest) or Counter(images_of(documents)) != Counter(
        images_of(manifest)
    )


def _version(text: str, of: str) -> Version:
    try:
        return parse_tolerant(text)
    except InvalidVersion as error:
        raise CertificateError(
            f'failed to parse version "{text}" of cert-manager ({of}): {error}; set '
            "cert-manager.version in the configuration file to one like v1.21.1"
        ) from None


async def _manifest(config: Config) -> list[Document]:
    """Return the objects of cert-manager, ready to be written."""
    settings = config.cert_manager
    repository = repository_at(settings.url, _NAMESPACE, config)
    file = repository.components_file
    text = (await repository.file(settings.version, file)).decode("utf-8", "surrogateescape")
    documents = objects_of(text, file)
    for document in documents:
        rewrite(document, partial(config.images.override, _NAMESPACE))
    return [_with_labels(item, settings.version) for item in documents]


def _with_labels(document: Document, version: str) -> Document:
    metadata = document.get("metadata") or {}
    labels = {CLUSTERCTL_LABEL: "", CORE_LABEL: "cert-manager"}
    return {
        **document,
        "metadata": {
            **metadata,
            "labels": {**(metadata.get("labels") or {}), **labels},
            "annotations": {**(metadata.get("annotations") or {}), VERSION: version},
        },
    }


async def _install(
    client: Client, config: Config, manifest: Sequence[Document], progress: Progress
) -> None:
    progress("Installing cert-manager", version=config.cert_manager.version)
    await ObjectApplier(client).apply(manifest)
    await _until_it_works(client, config, progress)


async def _works(client: Client) -> bool:
    """Return whether cert-manager can issue a certificate now."""
    try:
        await _test_issuance(client)
    except NotApplied:
        return False
    return True


async def _until_it_works(client: Client, config: Config, progress: Progress) -> None:
    from asyncio import sleep, timeout

    progress("Waiting for cert-manager to be available...")
    within = config.cert_manager.timeout.total_seconds()
    try:
        async with timeout(within):
            while True:
                if await _works(client):
                    return
                # Webhooks cannot be watched: only a call shows whether one answers.
                await sleep(_PAUSE)
    except TimeoutError:
        raise CertificateError(
            f"cert-manager does not work after {within:.0f} s; see `kubectl get pods -n "
            f"{_NAMESPACE}`, then run this again"
        ) from None


async def _test_issuance(client: Client) -> None:
    """Create a test certificate, as a provider would, and delete it. Raises NotApplied."""
    place = {"namespace": _TEST_NAMESPACE}
    issuer = {"name": "test-selfsigned", **place}
    certificate = {"name": "selfsigned-cert", **place}
    wanted: Document = {
        "dnsNames": ["example.com"],
        "secretName": "selfsigned-cert-tls",
        "issuerRef": {"name": issuer["name"]},
    }
    objects: tuple[tuple[Resource, Document, Document | None], ...] = (
        (NAMESPACES, {"name": _TEST_NAMESPACE}, None),
        (ISSUERS, issuer, {"selfSigned": {}}),
        (CERTIFICATES, certificate, wanted),
    )
    applying = ObjectApplier(client, patient=False)
    for resource, metadata, spec in objects:
        named = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
        await applying.apply([named if spec is None else {**named, "spec": spec}])
    for resource, metadata, _ in objects:
        key = Key(metadata.get("namespace", ""), metadata["name"])
        await _delete_key(client, resource, key)


async def _delete(client: Client, labelled: Labelled) -> None:
    await _delete_key(client, labelled.resource, labelled.key)


async def _delete_key(client: Client, resource: Resource, key: Key) -> None:
    with suppress(NotFound):
        await retry(lambda: client.delete(resource, key))
