"""Control planes, Machines and what belongs to them, for tests of what is computed from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.times import stamp
from kapy.client.client import Client
from kapy.kube import Document
from kapy.kube.http import Reply, Request
from kapy.kube.model import decode
from kapy.providers.kubeadm.controlplane.scope import ControlPlane
from kapy.sdk import (
    conditions,
)
from kapy.sdk.controllers import Draft

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HEALTHY = (
    "APIServerPodHealthy",
    "ControllerManagerPodHealthy",
    "SchedulerPodHealthy",
    "EtcdPodHealthy",
    "EtcdMemberHealthy",
)


async def _nobody(_: Request) -> Reply:
    raise AssertionError("nothing is asked here")


_CLIENT = Client(_nobody, field_manager="test")


def control_plane(spec: Document | None = None, **metadata: Any) -> KubeadmControlPlane:
    """The control plane `cp` of a cluster; `spec` is laid over a small one."""
    return decode(_control_plane(spec, **metadata), KubeadmControlPlane)


def machine(
    name: str,
    *,
    domain: str = "",
    age: float = 3600,
    healthy: bool = True,
    node: bool = True,
    **metadata: Any,
) -> Document:
    """A Machine `age` seconds old; with a node, and all components healthy, unless told not to."""
    created = stamp(NOW - timedelta(seconds=age))
    results = [
        {
            "type": type_,
            "status": "True",
            "reason": "Healthy",
            "message": "",
            "lastTransitionTime": created,
        }
        for type_ in HEALTHY
        if healthy
    ]
    return {
        "apiVersion": Machine.RESOURCE.api_version,
        "kind": "Machine",
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": f"uid-{name}",
            "creationTimestamp": created,
            **metadata,
        },
        "spec": {
            "clusterName": "c1",
            "version": "v1.34.0",
            "failureDomain": domain,
            "providerID": f"fake://{name}" if node else "",
            "bootstrap": {},
            "infrastructureRef": {"apiGroup": "i", "kind": "FakeMachine", "name": name},
        },
        "status": {"conditions": results, **({"nodeRef": {"name": name}} if node else {})},
    }


def plane(
    *machines: Document,
    domains: Sequence[str] = (),
    spec: Document | None = None,
    status: Mapping[str, Any] | None = None,
) -> ControlPlane:
    """The scope of a reconcile."""
    cluster = {
        "metadata": {"name": "c1", "namespace": "ns"},
        "spec": {},
        "status": {
            "failureDomains": [{"name": domain, "controlPlane": True} for domain in domains]
        },
    }
    document = {**_control_plane(spec), "status": dict(status or {})}
    return ControlPlane(
        draft=Draft(_CLIENT, KubeadmControlPlane, document),
        cluster=decode(cluster, Cluster),
        now=NOW,
        drafts=[Draft(_CLIENT, Machine, item) for item in machines],
    )


def say(control_plane: ControlPlane, name: str, condition: Condition, *, ago: float = 3600) -> None:
    """A Machine reports a condition since `ago` seconds."""
    (value,) = [item for item in control_plane.machines if item.metadata.name == name]
    conditions.set_condition(value, condition, control_plane.now - timedelta(seconds=ago))


def _control_plane(spec: Document | None, **metadata: Any) -> Document:
    return {
        "apiVersion": KubeadmControlPlane.RESOURCE.api_version,
        "kind": "KubeadmControlPlane",
        "metadata": {"name": "cp", "namespace": "ns", "uid": "uid-cp", **metadata},
        "spec": {
            "replicas": 3,
            "version": "v1.34.0",
            "machineTemplate": {
                "spec": {
                    "infrastructureRef": {
                        "apiGroup": "i",
                        "kind": "FakeMachineTemplate",
                        "name": "small",
                    }
                }
            },
            **(spec or {}),
        },
    }
