"""Predicts the rollouts of a change: replaced Machines, reasons, steps and the resulting
objects."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from kapy.apps.plan.control_planes import foreign_control_planes, kubeadm_control_planes
from kapy.apps.plan.deletions import deletions
from kapy.apps.plan.machine_deployments import machine_deployments
from kapy.apps.plan.machine_pools import machine_pools
from kapy.apps.plan.nodes import AssumedNodes
from kapy.apps.plan.objects import Objects
from kapy.apps.plan.outcome import Outcome
from kapy.apps.plan.snapshot import Snapshot


def outcomes(snapshot: Snapshot, nodes: AssumedNodes, now: datetime) -> Iterator[Outcome]:
    """Predicted outcomes of all objects with machines that are not up to date.

    Planners of the controllers predict MachineDeployments and KubeadmControlPlanes. Other control
    planes and machine pools depend on their providers: they are listed and assumed to finish.
    Objects that are being deleted are gone afterwards.
    """
    objects = Objects(snapshot)
    yield from deletions(objects, now)
    yield from kubeadm_control_planes(objects, now)
    yield from foreign_control_planes(objects)
    yield from machine_deployments(objects, now)
    yield from machine_pools(objects, nodes)
