"""From group and kind to the resource that is served."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.contract import (
    BootstrapConfig,
    BrokenDefinition,
    ControlPlane,
    InfraCluster,
    InfraMachine,
    NoContract,
    NoVersion,
    Version,
    View,
    resolve,
    version_priority,
)
from kapy.contract.external import check_definition, mandatory_paths
from kapy.contract.resolve import contract_of
from kapy.kube import Document
from kapy.kube.names import GroupKind, Resource

KIND = GroupKind("infrastructure.cluster.x-k8s.io", "FooMachine")
NAME = "foomachines.infrastructure.cluster.x-k8s.io"


def version(name: str, *, served: bool = True, schema: Document | None = None) -> Document:
    result = {"type": "object"} if schema is None else schema
    return {"name": name, "served": served, "schema": {"openAPIV3Schema": result}}


def crd(has: str = "v1beta1 v1beta2 v1 v2alpha1 v1alpha7", **labels: str) -> Document:
    """A CRD with versions (those in brackets are not served) and contract labels."""
    versions = [
        version(part.strip("()"), served=not part.startswith("(")) for part in reversed(has.split())
    ]
    return {
        "metadata": {
            "name": NAME,
            "labels": {f"cluster.x-k8s.io/{contract}": value for contract, value in labels.items()},
        },
        "spec": {
            "names": {"plural": "foomachines"},
            "scope": "Namespaced",
            "versions": versions,
        },
    }


@pytest.mark.parametrize(
    ("labels", "version", "contract"),
    [
        ({"v1beta2": "v1beta2"}, "v1beta2", Version.V1BETA2),
        ({"v1beta1": "v1alpha4_v1beta1"}, "v1beta1", Version.V1BETA1),
        ({"v1beta1": "v1_v1beta9", "v1beta2": "v1beta1_v1alpha7"}, "v1beta1", Version.V1BETA2),
        ({"v1beta2": "v1beta2_v2alpha1_v1"}, "v1", Version.V1BETA2),
        ({"v1beta2": "v1_v1beta2_v1alpha3"}, "v1", Version.V1BETA2),
        ({"v1beta2": "", "v1beta1": "v1beta1"}, "v1beta1", Version.V1BETA1),
    ],
)
def test_the_newest_contract_and_of_it_the_newest_version_win(
    labels: dict[str, str], version: str, contract: Version
) -> None:
    resource = Resource(KIND.group, version, "foomachines", KIND.kind)
    assert resolve(KIND, crd(**labels)) == (resource, contract)


@pytest.mark.parametrize(
    ("has", "label", "taken"),
    [
        ("v1beta2", "v1beta1_v1beta2", "v1beta2"),
        ("v1beta1 v1beta2", "v1beta1_v1beta2_v1", "v1beta2"),
        ("v1beta1 (v1beta2)", "v1beta2_v1beta1", "v1beta1"),
        ("v1alpha3 v1beta2 v1", "v1_v1beta2_v1alpha3", "v1"),
    ],
)
def test_versions_that_the_crd_lacks_or_does_not_serve_are_passed_over(
    has: str, label: str, taken: str
) -> None:
    assert resolve(KIND, crd(has, v1beta2=label)).resource.version == taken


@pytest.mark.parametrize(
    ("has", "label", "message"),
    [
        (
            "v1beta1",
            "v1beta2",
            f"CRD {NAME} has the label cluster.x-k8s.io/v1beta2: v1beta2, but this names version "
            "v1beta2, which it does not have (versions that it serves: v1beta1)",
        ),
        (
            "v1alpha1 (v1beta2)",
            "v1beta2",
            f"CRD {NAME} has the label cluster.x-k8s.io/v1beta2: v1beta2, but this names version "
            "v1beta2, which it does not serve (versions that it serves: v1alpha1)",
        ),
        (
            "(v1beta1)",
            "v1alpha4_v1alpha3",
            f"CRD {NAME} has the label cluster.x-k8s.io/v1beta2: v1alpha4_v1alpha3, but this names "
            "versions v1alpha4, v1alpha3, which it does not have (versions that it serves: none)",
        ),
    ],
)
def test_a_label_without_any_version_to_take_is_reported(
    has: str, label: str, message: str
) -> None:
    with pytest.raises(NoVersion) as caught:
        resolve(KIND, crd(has, v1beta2=label, v1beta1="v1beta1"))
    assert str(caught.value) == message


@pytest.mark.parametrize("labels", [{}, {"v1alpha4": "v1alpha4"}])
def test_without_a_known_contract_nothing_can_be_read(labels: dict[str, str]) -> None:
    with pytest.raises(NoContract, match=r"for CRD foomachines\."):
        resolve(KIND, crd(**labels))


def test_versions_have_an_order() -> None:
    ordered = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2"]
    ordered += ["foo1", "foo10"]
    assert sorted(ordered, key=version_priority, reverse=True) == ordered


def schema_with(*paths: str) -> Document:
    schema: Document = {"type": "object", "properties": {}}
    for path in paths:
        node: Any = schema
        for part in path.split("."):
            node = node.setdefault("properties", {}).setdefault(part, {"type": "object"})
    return schema


ANYTHING: Document = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def defined(schema: Document, contract: str, scope: str = "Namespaced") -> Document:
    document = crd(**{contract: "v1"})
    document["spec"] |= {"versions": [version("v1", schema=schema)], "scope": scope}
    return document


@pytest.mark.parametrize(
    ("view", "contract", "paths"),
    [
        (InfraCluster, Version.V1BETA2, ["status.initialization.provisioned"]),
        (InfraCluster, Version.V1BETA1, ["status.ready"]),
        (InfraMachine, Version.V1BETA2, ["spec.providerID", "status.initialization.provisioned"]),
        (InfraMachine, Version.V1BETA1, ["spec.providerID", "status.ready"]),
        (
            BootstrapConfig,
            Version.V1BETA2,
            ["status.initialization.dataSecretCreated", "status.dataSecretName"],
        ),
        (BootstrapConfig, Version.V1BETA1, ["status.ready", "status.dataSecretName"]),
        (ControlPlane, Version.V1BETA2, ["status.initialization.controlPlaneInitialized"]),
        (ControlPlane, Version.V1BETA1, ["status.initialized"]),
    ],
)
def test_a_schema_has_every_mandatory_field(
    view: type[View], contract: Version, paths: list[str]
) -> None:
    assert mandatory_paths(view, contract) == paths
    for room in (
        schema_with(*paths),
        ANYTHING,
        {"type": "object", "properties": {"spec": ANYTHING, "status": ANYTHING}},
    ):
        definition = defined(room, contract)
        check_definition(definition, resolve(KIND, definition), view)
    for missing in paths:
        definition = defined(schema_with(*(path for path in paths if path != missing)), contract)
        with pytest.raises(BrokenDefinition) as caught:
            check_definition(definition, resolve(KIND, definition), view)
        assert str(caught.value) == (
            f"CRD {NAME} breaks the {view.__name__} contract {contract}: it declares the contract "
            f"for version v1, whose schema has no .{missing}"
        )


def test_resources_are_namespaced() -> None:
    definition = defined(ANYTHING, "v1beta2", scope="Cluster")
    with pytest.raises(BrokenDefinition, match=r"its scope is Cluster, and .* be Namespaced"):
        check_definition(definition, resolve(KIND, definition), InfraMachine)


def test_a_version_of_a_kind_keeps_the_contract_that_names_it() -> None:
    definition = crd("v1 v2 v3", v1beta1="v1", v1beta2="v2_v3")
    assert contract_of(definition, "v1") is Version.V1BETA1
    assert contract_of(definition, "v2") is Version.V1BETA2
    with pytest.raises(NoContract, match="names version v9"):
        contract_of(definition, "v9")
