"""From group and kind to the resource that is served."""

from __future__ import annotations

import pytest

from kapy.contract import NoContract, Version, resolved, version_priority
from kapy.kube import Document
from kapy.kube.names import GroupKind, Resource

KIND = GroupKind("infrastructure.cluster.x-k8s.io", "FooMachine")


def crd(**labels: str) -> Document:
    return {
        "metadata": {
            "name": "foomachines.infrastructure.cluster.x-k8s.io",
            "labels": {f"cluster.x-k8s.io/{contract}": value for contract, value in labels.items()},
        },
        "spec": {"names": {"plural": "foomachines"}, "scope": "Namespaced"},
    }


@pytest.mark.parametrize(
    ("labels", "version", "contract"),
    [
        ({"v1beta2": "v1beta2"}, "v1beta2", Version.V1BETA2),
        ({"v1beta1": "v1alpha4_v1beta1"}, "v1beta1", Version.V1BETA1),
        ({"v1beta1": "v1_v1beta9", "v1beta2": "v1beta1_v1alpha7"}, "v1beta1", Version.V1BETA2),
        ({"v1beta2": "v1beta2_v2alpha1_v1"}, "v1", Version.V1BETA2),
        ({"v1beta2": "", "v1beta1": "v1beta1"}, "v1beta1", Version.V1BETA1),
    ],
)
def test_the_newest_contract_and_of_it_the_newest_version_win(
    labels: dict[str, str], version: str, contract: Version
) -> None:
    resource = Resource(KIND.group, version, "foomachines", KIND.kind)
    assert resolved(KIND, crd(**labels)) == (resource, contract)


@pytest.mark.parametrize("labels", [{}, {"v1alpha4": "v1alpha4"}])
def test_without_a_known_contract_nothing_can_be_read(labels: dict[str, str]) -> None:
    with pytest.raises(NoContract, match=r"for CRD foomachines\."):
        resolved(KIND, crd(**labels))


def test_versions_have_an_order() -> None:
    ordered = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2"]
    ordered += ["foo1", "foo10"]
    assert sorted(ordered, key=version_priority, reverse=True) == ordered
