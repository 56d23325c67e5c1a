"""Cluster templates: where they come from, what fills them, and the ClusterClasses they bring."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest

from kapy.client.client import Client
from kapy.clusterctl.config import Config
from kapy.clusterctl.errors import ClusterctlError, ConfigError, InventoryError, TemplateError
from kapy.clusterctl.inventory import Inventory
from kapy.clusterctl.provider import ProviderType
from kapy.clusterctl.templates import Template
from kapy.clusterctl.templates.generate import (
    FromConfigMap,
    FromPlace,
    FromRepository,
    Management,
    Source,
    TemplateOptions,
    cluster_template_of,
)
from kapy.clusterctl.variables import MissingVariables
from kapy.kube import Document, yaml
from kapy.kube.errors import KapyError
from kapy.kube.names import CONFIG_MAPS, CRDS, NAMESPACES, Resource
from tests.clusterctl.releases import Releases, crd, management_cluster

CLASSES = Resource("cluster.x-k8s.io", "v1beta2", "clusterclasses", "ClusterClass")
ACME = "acme:v1.0.0"
USUAL = TemplateOptions("c", "ns", "v1.34.0")
PLAIN = """\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: "${CLUSTER_NAME}", namespace: elsewhere}
spec: {paused: false}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "${CLUSTER_NAME}-settings"}
data:
  version: ${KUBERNETES_VERSION}
  machines: ${CONTROL_PLANE_MACHINE_COUNT}+${WORKER_MACHINE_COUNT} in ${NAMESPACE}
  size: ${SIZE:=small}
"""
TOPOLOGY = """\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: "${CLUSTER_NAME}"}
spec:
  topology: {version: v1.34.0, classRef: {name: quick, namespace: ${CLASS_NAMESPACE:=""}}}
"""
OLD_TOPOLOGY = """\
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: c}
spec: {topology: {version: v1.34.0, class: quick}}
"""
QUICK = """\
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: quick}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: quick-parts}
data: {size: "${CLASS_SIZE:=large}"}
"""


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return released(tmp_path)


def released(folder: Path, **variables: str) -> Config:
    """A configuration with a provider that has these templates."""
    releases = Releases(folder)
    place = folder / "infrastructure-acme" / "v1.0.0"
    for name, text in {
        "cluster-template": PLAIN,
        "cluster-template-topology": TOPOLOGY,
        "cluster-template-old": OLD_TOPOLOGY,
        "cluster-template-lost": TOPOLOGY.replace("quick", "lost"),
        "cluster-template-wrong": TOPOLOGY.replace("v1.34.0", "[1]"),
        "clusterclass-quick": QUICK,
    }.items():
        (place / f"{name}.yaml").write_text(text)
    return releases.config(**variables)


@dataclass(frozen=True)
class Here:
    """A management cluster that can be reached."""

    client: Client
    namespace: str = "current"


def nowhere() -> Management:
    raise ConfigError("there is no kubeconfig")


async def generated(
    config: Config,
    source: Source,
    options: TemplateOptions = USUAL,
    here: Client | None = None,
    *,
    list_only: bool = False,
    check_contract: bool = False,
) -> Template:
    return await cluster_template_of(
        source,
        options,
        config,
        (lambda: Here(here)) if here else nowhere,
        list_only=list_only,
        check_contract=check_contract,
    )


def settings(template: Template) -> Document:
    """The data of the template's ConfigMap."""
    data: Document = template.objects[1]["data"]
    return data


async def test_a_template_is_filled_and_put_into_one_namespace(config: Config) -> None:
    options = TemplateOptions("c", "ns", "v1.34.0", 3, 5)
    template = await generated(config, FromRepository(ACME), options)
    assert [obj["metadata"] for obj in template.objects] == [
        {"name": "c", "namespace": "ns"},
        {"name": "c-settings", "namespace": "ns"},
    ]
    assert settings(template) == {"version": "v1.34.0", "machines": "3+5 in ns", "size": "small"}


async def test_a_flavor_has_a_file_of_its_own(config: Config) -> None:
    with pytest.raises(TemplateError, match='template for "ns/lost"'):
        await generated(config, FromRepository(ACME, "lost"), TemplateOptions("c", "ns", "v1.34.0"))


async def test_machine_counts_come_from_flags_the_environment_or_defaults(
    tmp_path: Path,
) -> None:
    config = released(tmp_path, WORKER_MACHINE_COUNT="7", KUBERNETES_VERSION="v1.33.0")
    template = await generated(config, FromRepository(ACME), TemplateOptions("c", "ns"))
    assert settings(template)["machines"] == "1+7 in ns"
    assert settings(template)["version"] == "v1.33.0"
    template = await generated(config, FromRepository(ACME), TemplateOptions("c", "ns", "", 3, 0))
    assert settings(template)["machines"] == "3+0 in ns"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (TemplateOptions("A_b", "ns"), "invalid cluster name: a lowercase RFC 1123 subdomain"),
        (TemplateOptions("c", "Bad_NS"), "invalid target-namespace: a lowercase RFC 1123 label"),
        (TemplateOptions("c" * 64, "n" * 64), "invalid target-namespace: must be no more than 63"),
        (TemplateOptions("c", "ns", "1.34"), "invalid KubernetesVersion"),
        (TemplateOptions("c", "ns", "v1.34.0", 0), "invalid ControlPlaneMachineCount"),
        (TemplateOptions("c", "ns", "v1.34.0", 1, -1), "invalid WorkerMachineCount"),
    ],
)
async def test_contradictory_options_are_refused(
    config: Config, options: TemplateOptions, message: str
) -> None:
    with pytest.raises(TemplateError, match=message):
        await generated(config, FromRepository(ACME), options)


async def test_a_count_in_the_environment_must_be_a_number(tmp_path: Path) -> None:
    config = released(tmp_path, WORKER_MACHINE_COUNT="many")
    with pytest.raises(TemplateError, match='WORKER_MACHINE_COUNT set: "many" is no whole number'):
        await generated(config, FromRepository(ACME))


async def test_all_variables_that_are_missing_are_named(config: Config) -> None:
    with pytest.raises(MissingVariables) as refused:
        await generated(config, FromRepository(ACME), TemplateOptions("c", "ns"))
    assert refused.value.names == ("KUBERNETES_VERSION",)


async def test_variables_are_listed_with_their_defaults(config: Config) -> None:
    template = await generated(
        config, FromRepository(ACME), TemplateOptions("c", "ns"), list_only=True
    )
    assert template.objects == ()
    assert template.variables == {
        "CLUSTER_NAME": None,
        "CONTROL_PLANE_MACHINE_COUNT": None,
        "KUBERNETES_VERSION": None,
        "NAMESPACE": None,
        "SIZE": "small",
        "WORKER_MACHINE_COUNT": None,
    }


@pytest.mark.parametrize("flavor", ["topology", "old"])
async def test_a_cluster_class_comes_before_the_cluster_that_is_made_of_it(
    config: Config, flavor: str
) -> None:
    template = await generated(config, FromRepository(ACME, flavor))
    kinds = [(obj["kind"], obj["metadata"]["namespace"]) for obj in template.objects]
    assert kinds == [("ClusterClass", "ns"), ("ConfigMap", "ns"), ("Cluster", "ns")]
    assert template.variables["CLASS_SIZE"] == "large"


async def test_a_cluster_class_of_another_namespace_is_generated_there(tmp_path: Path) -> None:
    config = released(tmp_path, CLASS_NAMESPACE="classes")
    template = await generated(config, FromRepository(ACME, "topology"))
    assert [obj["metadata"]["namespace"] for obj in template.objects] == [
        "classes",
        "classes",
        "ns",
    ]


@asynccontextmanager
async def with_cluster_api() -> AsyncIterator[Client]:
    """A management cluster with the kinds of Cluster API."""
    async with management_cluster() as client:
        for kind, plural in (("Cluster", "clusters"), ("ClusterClass", "clusterclasses")):
            definition = crd("cluster.x-k8s.io", kind)
            definition["metadata"]["name"] = f"{plural}.cluster.x-k8s.io"
            definition["spec"]["names"]["plural"] = plural
            await client.create(CRDS, definition)
        for name in ("ns", "current"):
            await client.create(
                NAMESPACES,
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
            )
        yield client


def parsed(text: str) -> list[Document]:
    return yaml.load_all(text.replace("{name: quick", "{namespace: ns, name: quick"))


async def test_a_cluster_class_that_is_there_is_left_out(config: Config) -> None:
    async with with_cluster_api() as client:
        template = await generated(config, FromRepository(ACME, "topology"), here=client)
        assert len(template.objects) == 3
        await client.create(CLASSES, parsed(QUICK)[0])
        template = await generated(config, FromRepository(ACME, "topology"), here=client)
        assert [obj["kind"] for obj in template.objects] == ["Cluster"]


async def test_an_incomplete_cluster_class_is_not_completed(config: Config) -> None:
    async with with_cluster_api() as client:
        await client.create(CONFIG_MAPS, parsed(QUICK)[1])
        with pytest.raises(TemplateError, match=r"ns/quick-parts.*already exists in the cluster"):
            await generated(config, FromRepository(ACME, "topology"), here=client)


async def test_a_management_cluster_without_cluster_api_has_no_classes(config: Config) -> None:
    async with management_cluster() as client:
        template = await generated(config, FromRepository(ACME, "topology"), here=client)
        assert len(template.objects) == 3


@pytest.mark.parametrize(
    ("flavor", "message"),
    [
        ("lost", 'class template for "ns/lost": failed to read "clusterclass-lost.yaml" from'),
        ("wrong", r"failed to convert object to Cluster: c: .*topology\.version"),
        ("none", 'failed to read "cluster-template-none.yaml" from provider\'s repository'),
    ],
)
async def test_templates_that_cannot_be_used_are_refused(
    config: Config, flavor: str, message: str
) -> None:
    with pytest.raises(ClusterctlError, match=message):
        await generated(config, FromRepository(ACME, flavor))


async def test_provider_version_and_namespace_are_those_of_the_management_cluster(
    config: Config,
) -> None:
    async with with_cluster_api() as client:
        await installed(client, "v1.0.0")
        template = await generated(
            config, FromRepository(), TemplateOptions("c", "", "v1.34.0"), client
        )
        assert template.objects[0]["metadata"]["namespace"] == "current"


async def installed(client: Client, version: str, name: str = "acme") -> None:
    """Say in the inventory that a provider is there."""
    inventory = Inventory(client)
    await inventory.ensure()
    await inventory.record(
        {
            "apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3",
            "kind": "Provider",
            "metadata": {"name": f"infrastructure-{name}", "namespace": "ns"},
            "providerName": name,
            "type": ProviderType.INFRASTRUCTURE.value,
            "version": version,
        }
    )


@pytest.mark.parametrize(
    ("infrastructure", "there", "message"),
    [
        ("", [], "failed to identify the default infrastructure provider"),
        ("", ["acme", "other"], "failed to identify the default infrastructure provider"),
        ("acme", [], 'Unable to identify version for the provider "acme" automatically'),
    ],
)
async def test_undiscoverable_template_values_must_be_given(
    config: Config, infrastructure: str, there: list[str], message: str
) -> None:
    async with with_cluster_api() as client:
        for name in there:
            await installed(client, "v1.0.0", name)
        with pytest.raises(TemplateError, match=message):
            await generated(config, FromRepository(infrastructure), here=client)


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (
            FromRepository("acme"),
            TemplateOptions("c", "ns"),
            'discover version for the provider "acme"',
        ),
        (FromRepository(), TemplateOptions("c", "ns"), "discover default infrastructure provider"),
        (
            FromRepository(ACME),
            TemplateOptions("c"),
            "discover target namespace.*there is no kubeconfig",
        ),
        (FromConfigMap("templates"), TemplateOptions("c", "ns"), "there is no kubeconfig"),
    ],
)
async def test_without_a_management_cluster_missing_values_are_reported(
    config: Config, source: Source, options: TemplateOptions, message: str
) -> None:
    with pytest.raises(KapyError, match=message):
        await generated(config, source, options)


async def test_a_management_cluster_of_another_contract_is_refused_where_it_is_named(
    config: Config,
) -> None:
    async with management_cluster() as client:
        await client.create(CRDS, crd("cluster.x-k8s.io", "Cluster", versions=["v1alpha4"]))
        with pytest.raises(InventoryError, match='"v1alpha4" detected'):
            await generated(config, FromRepository(ACME), here=client, check_contract=True)


async def test_a_template_may_be_in_a_config_map(config: Config) -> None:
    async with with_cluster_api() as client:
        metadata = {"name": "templates", "namespace": "current"}
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        await client.create(CONFIG_MAPS, {**document, "data": {"template": PLAIN, "b": PLAIN}})
        for source in (FromConfigMap("templates"), FromConfigMap("templates", "current", "b")):
            template = await generated(config, source, here=client)
            assert len(template.objects) == 2
        for source, message in (
            (FromConfigMap("templates", "current", "c"), r'"c" data key \(it has b, template\)'),
            (FromConfigMap("none"), "error reading ConfigMap current/none"),
            (FromConfigMap("", "current"), "missing configMapName value"),
        ):
            with pytest.raises(TemplateError, match=message):
                await generated(config, source, here=client)


async def test_a_template_may_be_a_file_or_come_from_standard_input(
    config: Config, tmp_path: Path
) -> None:
    path = tmp_path / "my template.yaml"
    path.write_text(PLAIN)
    for place in (str(path), path.as_uri()):
        assert len((await generated(config, FromPlace(place))).objects) == 2
    with patch("sys.stdin", io.TextIOWrapper(io.BytesIO(PLAIN.encode()))):
        assert len((await generated(config, FromPlace("-"))).objects) == 2


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("none.yaml", 'failed to read file "none.yaml"'),
        ("/", 'file "/" is actually a directory'),
        ("http://a.example.com/x", "Only reading from GitHub and local file system is supported"),
        ("https://github.com/o/r", "a GitHub url should be in one of these forms"),
        ("https://github.com/o/r/tree/main/x", "a GitHub url should be in one of these forms"),
    ],
)
async def test_places_without_a_template_are_reported(
    config: Config, place: str, message: str
) -> None:
    with pytest.raises(TemplateError, match=f"invalid GetFromURL operation: .*{message}"):
        await generated(config, FromPlace(place))


async def test_a_broken_template_is_reported_with_its_line(config: Config, tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("a: 1\nb: {\n")
    with pytest.raises(ClusterctlError, match=r"failed to parse yaml: .*broken\.yaml: line 3"):
        await generated(config, FromPlace(str(path)))
