"""The provider keeps the contracts, and its release is one that users can install."""

from functools import partial
from pathlib import Path

from kapy.testing.provider import check_behaviour, check_release

from nimbus.fake_cloud import FakeCloud
from nimbus.provider import PROVIDER, add_to

CLUSTER = {
    "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1",
    "kind": "NimbusCluster",
    "spec": {"region": "south"},
}
MACHINE = {
    "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1",
    "kind": "NimbusMachine",
    "spec": {"size": "large"},
}


def test_the_contracts_are_kept() -> None:
    check_behaviour(PROVIDER, [CLUSTER, MACHINE], add_to=partial(add_to, cloud=FakeCloud()))


def test_the_release_can_be_installed(tmp_path: Path) -> None:
    check_release(PROVIDER, "v0.1.0", tmp_path)
