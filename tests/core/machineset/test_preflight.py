"""Tests of the preflight checks of the control plane, before a MachineSet creates Machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pytest

from kapy.api.cluster import Cluster
from kapy.api.machine_set import MachineSet
from kapy.contract.control_plane import ControlPlane
from kapy.contract.fields import Version
from kapy.core.machineset.preflight import problems
from kapy.core.machineset.scope import MachineSetScope
from kapy.kube import Document
from kapy.kube.meta import read

KUBEADM = {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": "t"}
OTHER = {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "OtherConfigTemplate", "name": "t"}
SKEW = "MachineSet version (%s) and ControlPlane version (1.34.0) do not conform to"


@dataclass
class Scope:
    """The inputs of the preflight checks."""

    cluster: Cluster
    machine_set: MachineSet
    namespace: str = "ns"


def scope(version: str, *, config: Document = OTHER, topology: str = "", step: str = "") -> Any:
    reference = {"apiGroup": "x.example.com", "kind": "T", "name": "t"}
    spec: Document = {"controlPlaneRef": reference}
    if topology:
        spec["topology"] = {"classRef": {"name": "c"}, "version": topology}
    annotations = {"topology.internal.cluster.x-k8s.io/upgrade-step": step} if step else {}
    cluster = read({"metadata": {"name": "c", "annotations": annotations}, "spec": spec}, Cluster)
    template = {
        "spec": {
            "clusterName": "c",
            "bootstrap": {"configRef": config},
            "infrastructureRef": reference,
            "version": version,
        }
    }
    wanted = {"clusterName": "c", "selector": {}, "template": template}
    machine_set = read({"metadata": {"name": "ms"}, "spec": wanted}, MachineSet)
    return cast(MachineSetScope, Scope(cluster, machine_set))


def control_plane(running: str = "v1.34.0") -> ControlPlane:
    status = {"versions": [{"version": running, "replicas": 1}]} if running else {}
    document = {
        "apiVersion": "x.example.com/v1",
        "kind": "Plane",
        "metadata": {"name": "p", "namespace": "ns"},
        "spec": {"version": "v1.34.0"},
        "status": status,
    }
    return ControlPlane(document, Version.V1BETA2)


@pytest.mark.parametrize(
    ("set_scope", "plane", "expected"),
    [
        (scope("v1.34.0"), control_plane(), []),
        (scope(""), control_plane(), []),
        (scope("v1.31.9"), control_plane(), []),
        (
            scope("v1.30.0"),
            control_plane(),
            [
                (
                    "KubernetesVersionSkew",
                    f"{SKEW % '1.30.0'} the kubernetes version skew policy as MachineSet version "
                    "is more than 3 minor versions older than the ControlPlane version",
                )
            ],
        ),
        (
            scope("v1.35.0"),
            control_plane(),
            [
                (
                    "KubernetesVersionSkew",
                    f"{SKEW % '1.35.0'} the kubernetes version skew policy as MachineSet version "
                    "is higher than ControlPlane version",
                )
            ],
        ),
        (
            scope("v1.33.0", config=KUBEADM),
            control_plane(),
            [
                (
                    "KubeadmVersionSkew",
                    f"{SKEW % '1.33.0'} kubeadm version skew policy as kubeadm only supports "
                    "joining with the same major+minor version as the control plane",
                )
            ],
        ),
        (scope("v1.33.0"), control_plane(), []),
        (
            scope("v1.34.0"),
            control_plane(""),
            [("ControlPlaneIsStable", "Plane ns/p is provisioning")],
        ),
        (
            scope("v1.34.0"),
            control_plane("v1.33.0"),
            [("ControlPlaneIsStable", "Plane ns/p is upgrading")],
        ),
        (
            scope("v1.34.0", topology="v1.35.0"),
            control_plane(),
            [("ControlPlaneIsStable", "Plane ns/p has a pending version upgrade to v1.35.0")],
        ),
        (scope("v1.34.0", topology="v1.36.0", step="v1.34.0"), control_plane(), []),
        (
            scope("v1.34.0", topology="v1.36.0", step="v1.35.0"),
            control_plane(),
            [("ControlPlaneIsStable", "Plane ns/p has a pending version upgrade to v1.35.0")],
        ),
        (
            scope("v1.33.0", topology="v1.34.0"),
            control_plane(),
            [
                (
                    "ControlPlaneVersionSkew",
                    "MachineSet version (v1.33.0) is not yet the same as the ControlPlane version "
                    "(v1.34.0), waiting for version to be propagated to the MachineSet",
                )
            ],
        ),
    ],
)
def test_preflight_problems_are_reported(
    set_scope: MachineSetScope, plane: ControlPlane, expected: list[tuple[str, str]]
) -> None:
    assert list(problems(set_scope, plane)) == expected
