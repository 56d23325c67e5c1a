"""From a components file to what is installed: namespace, labels, images, order, and checks."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from kapy.clusterctl.components import Components
from kapy.clusterctl.components.reading import components_of, generate_components, read_components
from kapy.clusterctl.config import Config
from kapy.clusterctl.config.file import File
from kapy.clusterctl.envsubst import BadSubstitution
from kapy.clusterctl.errors import ComponentsError, MetadataError, RepositoryError
from kapy.clusterctl.manifests import BadManifest
from kapy.clusterctl.provider import Provider, ProviderType
from kapy.clusterctl.repository.memory import MemoryRepository
from kapy.kube import Document, yaml

PROVIDER = Provider("x", ProviderType.INFRASTRUCTURE, "memory/infrastructure-components.yaml")
LABELS = {"clusterctl.cluster.x-k8s.io": "", "cluster.x-k8s.io/provider": "infrastructure-x"}


def named(kind: str, name: str, api_version: str = "v1", **more: Any) -> Document:
    """An object that has its provider's label already."""
    metadata = {"name": name, "labels": {"cluster.x-k8s.io/provider": "infrastructure-x"}}
    metadata |= more.pop("metadata", {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}


NAMESPACE = named("Namespace", "x-system")
SERVICE = {"service": {"name": "hook", "namespace": "x-system", "path": "/"}}
INJECTED = {"annotations": {"cert-manager.io/inject-ca-from": "x-system/cert"}}
DEPLOYMENT = named(
    "Deployment",
    "manager",
    "apps/v1",
    metadata={"namespace": "x-system"},
    spec={
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {
                "containers": [
                    {
                        "name": "manager",
                        "image": "r.example.com/x/manager:v1",
                        "env": [{"name": "EMPTY", "value": ""}],
                        "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}},
                    },
                    {"name": "proxy", "image": "r.example.com/proxy:v2"},
                ],
                "initContainers": [{"name": "first", "image": "r.example.com/first:v3"}],
            },
        },
    },
)


def read(*documents: Document, config: Config | None = None, **how: Any) -> Components:
    text = yaml.dump_all([*documents])
    return components_of(text, PROVIDER, "v1.0.0", config or Config(), source="c.yaml", **how)


def one(kind: str, components: Components) -> Document:
    (document,) = [obj for obj in components.objects if obj["kind"] == kind]
    return document


def at(document: Document, path: str) -> Any:
    value: Any = document
    for part in path.split("."):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


@pytest.mark.parametrize(
    ("document", "path", "expected"),
    [
        (named("ServiceAccount", "sa"), "metadata.namespace", "other"),
        (named("Foo", "f", "example.com/v1"), "metadata.namespace", "other"),
        (
            named(
                "ClusterRoleBinding",
                "b",
                "rbac.authorization.k8s.io/v1",
                subjects=[
                    {"kind": "ServiceAccount", "name": "sa", "namespace": "x-system"},
                    {"kind": "User", "name": "u"},
                ],
            ),
            "subjects",
            [
                {"kind": "ServiceAccount", "name": "sa", "namespace": "other"},
                {"kind": "User", "name": "u"},
            ],
        ),
        (
            named(
                "RoleBinding",
                "b",
                "rbac.authorization.k8s.io/v1",
                subjects=[{"kind": "ServiceAccount", "name": "sa", "namespace": "elsewhere"}],
            ),
            "subjects.0.namespace",
            "other",
        ),
        (
            named(
                "ValidatingWebhookConfiguration",
                "w",
                "admissionregistration.k8s.io/v1",
                webhooks=[{"name": "a", "clientConfig": SERVICE}],
                metadata=INJECTED,
            ),
            "webhooks.0.clientConfig.service.namespace",
            "other",
        ),
        (
            named("MutatingWebhookConfiguration", "w", metadata=INJECTED),
            "metadata.annotations",
            {"cert-manager.io/inject-ca-from": "other/cert"},
        ),
        (
            named(
                "CustomResourceDefinition",
                "foos.example.com",
                "apiextensions.k8s.io/v1",
                spec={
                    "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": SERVICE}},
                    "group": "example.com",
                    "names": {"kind": "Foo", "plural": "foos"},
                    "scope": "Namespaced",
                    "versions": [],
                },
            ),
            "spec.conversion.webhook.clientConfig.service.namespace",
            "other",
        ),
        (
            named(
                "Certificate",
                "cert",
                "cert-manager.io/v1",
                metadata={"namespace": "x-system"},
                spec={"dnsNames": ["hook.x-system.svc", "hook.x-system.svc.cluster.local", "x"]},
            ),
            "spec.dnsNames",
            ["hook.other.svc", "hook.other.svc.cluster.local", "x"],
        ),
    ],
    ids=lambda value: value.get("kind") if isinstance(value, dict) else "",
)
def test_everything_is_in_the_target_namespace(
    document: Document, path: str, expected: Any
) -> None:
    components = read(NAMESPACE, DEPLOYMENT, document, namespace="other")
    assert at(one(document["kind"], components), path) == expected


def test_the_namespace_of_the_file_is_the_default_target() -> None:
    components = read(DEPLOYMENT, NAMESPACE)
    assert components.target_namespace == "x-system"
    assert [obj["kind"] for obj in components.objects] == ["Namespace", "Deployment"]


def test_a_namespace_is_added_where_the_file_has_none() -> None:
    components = read(named("ConfigMap", "c"), namespace="mine")
    assert components.objects[0] == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "mine", "labels": LABELS},
    }


def test_objects_that_are_not_namespaced_get_no_namespace() -> None:
    role = named("ClusterRole", "r", "rbac.authorization.k8s.io/v1", rules=[])
    assert "namespace" not in one("ClusterRole", read(NAMESPACE, role))["metadata"]


def test_every_object_has_the_labels_of_the_provider_and_keeps_its_own() -> None:
    account = named("ServiceAccount", "a", metadata={"labels": {"own": "1"}})
    components = read(NAMESPACE, account)
    assert one("ServiceAccount", components)["metadata"]["labels"] == {**LABELS, "own": "1"}
    assert one("Namespace", components)["metadata"]["labels"] == LABELS


def test_certificates_precede_the_objects_that_use_them() -> None:
    kinds = ["Issuer", "Certificate"]
    certificates = [named(kind, "c", "cert-manager.io/v1") for kind in kinds]
    components = read(named("ConfigMap", "c"), DEPLOYMENT, *certificates, NAMESPACE)
    order = [obj["kind"] for obj in components.objects]
    assert order == ["Namespace", "Certificate", "Issuer", "ConfigMap", "Deployment"]


def test_the_inventory_has_provider_version_and_namespace() -> None:
    assert read(NAMESPACE, namespace="other").inventory_object == {
        "apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3",
        "kind": "Provider",
        "metadata": {
            "name": "infrastructure-x",
            "namespace": "other",
            "labels": {**LABELS, "clusterctl.cluster.x-k8s.io/core": "inventory"},
        },
        "providerName": "x",
        "type": "InfrastructureProvider",
        "version": "v1.0.0",
    }


def test_images_are_those_of_the_configuration() -> None:
    images = {"images": {"infrastructure-x": {"repository": "mirror.example.com/p"}}}
    components = read(NAMESPACE, DEPLOYMENT, config=Config(File("c", images)))
    assert components.images == (
        "mirror.example.com/p/manager:v1",
        "mirror.example.com/p/proxy:v2",
        "mirror.example.com/p/first:v3",
    )


def test_a_deployment_is_written_as_go_writes_it() -> None:
    spec = one("Deployment", read(NAMESPACE, DEPLOYMENT))["spec"]
    assert spec["strategy"] == {}
    first = spec["template"]["spec"]["containers"][0]
    assert first["env"] == [{"name": "EMPTY"}]
    assert first["resources"] == {"limits": {"cpu": "1", "memory": "1Gi"}}


def test_fields_unknown_to_go_stay() -> None:
    deployment = DEPLOYMENT | {"spec": DEPLOYMENT["spec"] | {"newInKubernetes": {"a": ""}}}
    assert one("Deployment", read(NAMESPACE, deployment))["spec"]["newInKubernetes"] == {"a": ""}


@pytest.mark.parametrize(
    ("arguments", "installed"),
    [
        (["--v=2", "--namespace=one"], ["--v=2", "--namespace="]),
        (["--namespace", "one", "--v=2"], ["--namespace", "", "--v=2"]),
    ],
)
def test_a_manager_watches_all_namespaces(arguments: list[str], installed: list[str]) -> None:
    components = read(NAMESPACE, with_arguments(arguments))
    manager, proxy, *_ = one("Deployment", components)["spec"]["template"]["spec"]["containers"]
    assert (manager["args"], proxy["args"]) == (installed, arguments)
    (warning,) = components.warnings
    assert "Deployment x-system/manager would watch only the namespace one" in warning
    assert read(NAMESPACE, with_arguments(installed)).warnings == ()


def with_arguments(arguments: list[str]) -> Document:
    deployment = deepcopy(DEPLOYMENT)
    for container in deployment["spec"]["template"]["spec"]["containers"]:
        container["args"] = arguments
    return deployment


def test_referenced_objects_may_be_missing_in_the_file() -> None:
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "of-others"}
    subjects = [{"kind": "ServiceAccount", "name": "of-others", "namespace": "x-system"}]
    binding = named("RoleBinding", "b", roleRef=reference, subjects=subjects)
    components = read(NAMESPACE, DEPLOYMENT, binding)
    assert one("RoleBinding", components)["roleRef"] == reference
    assert {obj["kind"] for obj in components.objects} == {
        "Namespace",
        "Deployment",
        "RoleBinding",
    }


def test_every_object_of_the_file_is_there() -> None:
    documents = [NAMESPACE, *(named("ConfigMap", f"c-{number}") for number in range(3))]
    objects = components_of(yaml.dump_all(documents), PROVIDER, "v1.0.0", Config()).objects
    names = [(document["kind"], document["metadata"]["name"]) for document in documents]
    assert [(document["kind"], document["metadata"]["name"]) for document in objects] == names


def test_variables_are_filled_in_and_listed() -> None:
    text = yaml.dump_all([NAMESPACE, named("ConfigMap", "c", data={"a": "${A}", "b": "${B:=b}"})])
    config = Config(environ={"A": "one"})
    components = components_of(text, PROVIDER, "v1.0.0", config)
    assert components.variables == ("A", "B")
    assert one("ConfigMap", components)["data"] == {"a": "one", "b": "b"}
    raw = components_of(text, PROVIDER, "v1.0.0", Config(), substitute=False)
    assert one("ConfigMap", raw)["data"] == {"a": "${A}", "b": "${B:=b}"}


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        (
            [NAMESPACE, named("Namespace", "second")],
            "no more than one resource with Kind Namespace.*and there are 2: x-system, second",
        ),
        ([named("ConfigMap", "c")], "target namespace can't be defaulted"),
        (
            [
                NAMESPACE,
                named(
                    "MutatingWebhookConfiguration",
                    "w",
                    metadata={"annotations": {"cert-manager.io/inject-ca-from": "cert"}},
                ),
            ],
            'MutatingWebhookConfiguration w does not have a correct value .* it is "cert"',
        ),
        (
            [NAMESPACE, named("Certificate", "c", spec={"dnsNames": "a"})],
            r"Certificate x-system/c: spec\.dnsNames must be a list of names",
        ),
        (
            [NAMESPACE, named("Deployment", "d", "apps/v1", spec={"template": None})],
            "Deployment d has no spec.template.spec with a list of containers",
        ),
        (
            [NAMESPACE, named("ClusterRoleBinding", "b", subjects="all")],
            "ClusterRoleBinding b is not what a ClusterRoleBinding has to be",
        ),
        (
            [NAMESPACE, named("ConfigMap", "c", data={"a": "${A}", "b": "${ B }"})],
            r"failed to perform variable substitution: value for variables \[A, B\] is not set",
        ),
    ],
)
def test_components_that_violate_the_contract_are_refused(
    documents: list[Document], message: str
) -> None:
    with pytest.raises(ComponentsError, match=message):
        read(*documents)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("a: 1\nb: [\n", BadManifest, r"failed to parse yaml: c\.yaml: line 3: "),
        ("- a\n", BadManifest, r"c\.yaml: document 1 is no object"),
        ("a: ${A-1}\n", BadSubstitution, r"missing closing brace: line 1, at \$\{A-1\}"),
    ],
)
def test_a_broken_file_is_reported_with_its_line(
    text: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        components_of(text, PROVIDER, "v1.0.0", Config(), source="c.yaml")


def definition(name: str, group: str, labels: dict[str, str]) -> Document:
    names = {"kind": "XCluster", "plural": name.partition(".")[0]}
    labels = {"cluster.x-k8s.io/provider": "infrastructure-x", **labels}
    version = {"name": "v1", "served": True, "storage": True}
    return named(
        "CustomResourceDefinition",
        name,
        "apiextensions.k8s.io/v1",
        metadata={"labels": labels},
        spec={"group": group, "names": names, "scope": "Namespaced", "versions": [version]},
    )


INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"
V1BETA2 = {"cluster.x-k8s.io/v1beta2": "v1"}
WRONG = {"cluster.x-k8s.io/v1beta2": "v2"}
AGGREGATED = named(
    "ClusterRole",
    "r",
    metadata={
        "labels": {
            "cluster.x-k8s.io/provider": "infrastructure-x",
            "cluster.x-k8s.io/aggregate-to-manager": "true",
        }
    },
)


@pytest.mark.parametrize(
    ("documents", "messages"),
    [
        ([DEPLOYMENT], []),
        ([], ["has no Deployment with a container manager"]),
        (
            [DEPLOYMENT, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}],
            ["ConfigMap c should have the label cluster.x-k8s.io/provider=infrastructure-x"],
        ),
        (
            [
                DEPLOYMENT,
                definition(f"clusters.{INFRASTRUCTURE}", INFRASTRUCTURE, V1BETA2),
            ],
            [f"has to be called xclusters.{INFRASTRUCTURE}"],
        ),
        (
            [
                DEPLOYMENT,
                definition(
                    f"xclusters.{INFRASTRUCTURE}",
                    INFRASTRUCTURE,
                    {"cluster.x-k8s.io/v1beta2": "v2"},
                ),
            ],
            [f"name no version that they serve: xclusters.{INFRASTRUCTURE}"],
        ),
        (
            [DEPLOYMENT, definition("xclusters.x.example.com", "x.example.com", V1BETA2)],
            ["has kinds of x.example.com, but no ClusterRole with the label"],
        ),
        (
            [
                DEPLOYMENT,
                AGGREGATED,
                definition("xclusters.x.example.com", "x.example.com", V1BETA2),
            ],
            [],
        ),
    ],
)
def test_rules_that_upstream_does_not_enforce_are_warnings(
    documents: list[Document], messages: list[str]
) -> None:
    warnings = read(NAMESPACE, *documents).warnings
    assert len(warnings) == len(messages)
    assert all(part in warning for part, warning in zip(messages, warnings, strict=True))


RELEASES = {
    "v1.0.0": {
        "infrastructure-components.yaml": yaml.dump_all([NAMESPACE, DEPLOYMENT]).encode(),
        "metadata.yaml": (
            b"apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\n"
            b"releaseSeries: [{major: 1, minor: 0, contract: v1beta2}]\n"
        ),
    }
}


async def test_a_repository_is_read_in_its_default_version() -> None:
    repository = MemoryRepository(RELEASES, components_file="infrastructure-components.yaml")
    components = await read_components(repository, PROVIDER, Config())
    assert (components.version, len(components.objects)) == ("v1.0.0", 2)
    with pytest.raises(RepositoryError, match='from provider\'s repository "infrastructure-x"'):
        await read_components(repository, PROVIDER, Config(), version="v2.0.0")


async def test_a_contract_that_is_not_known_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "infrastructure-x" / "v1.0.0"
    folder.mkdir(parents=True)
    for name, content in RELEASES["v1.0.0"].items():
        (folder / name).write_bytes(content.replace(b"v1beta2", b"v1alpha4"))
    url = f"{folder}/infrastructure-components.yaml"
    provider = Provider("x", ProviderType.INFRASTRUCTURE, url)
    with pytest.raises(MetadataError, match=r"only compatible with .* detected v1alpha4"):
        await generate_components(provider, "", Config())
