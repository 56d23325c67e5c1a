"""Tests of `owned_children`, the objects that the Cluster controller deletes itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.core.cluster.deletion import owned_children
from kapy.core.cluster.scope import ClusterScope, Descendants
from kapy.kube import Document
from kapy.kube.meta import read
from kapy.kube.model import decode

REFERENCE = {"apiGroup": "x.example.com", "kind": "Thing", "name": "t"}


def machine(name: str, owner: str = "Cluster") -> Machine:
    """A Machine that the Cluster owns, or something else."""
    reference = {"kind": owner, "name": "c", "uid": "uid-c"}
    references = [{"apiVersion": "cluster.x-k8s.io/v1beta2", **reference}]
    spec: Document = {"clusterName": "c", "bootstrap": {}, "infrastructureRef": REFERENCE}
    metadata = {"name": name, "ownerReferences": references}
    return read({"metadata": metadata, "spec": spec}, Machine)


@pytest.mark.parametrize(
    ("control_plane", "expected"), [(None, ["worker", "cp"]), (REFERENCE, ["worker"])]
)
def test_machines_of_a_control_plane_are_left_to_its_provider(
    control_plane: Document | None, expected: list[str]
) -> None:
    spec = {"controlPlaneRef": control_plane} if control_plane else {}
    cluster = decode({"metadata": {"name": "c", "uid": "uid-c"}, "spec": spec}, Cluster)
    descendants = Descendants(
        workers=[machine("worker"), machine("of-another", owner="MachineSet")],
        control_plane=[machine("cp")],
    )
    scope = cast(ClusterScope, SimpleNamespace(cluster=cluster, descendants=descendants))
    assert [child.metadata.name for child in owned_children(scope)] == expected
