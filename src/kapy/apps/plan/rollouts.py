"""Which Machines a change replaces, why, and in which steps; and what is there afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from kapy.apps.plan.control_planes import foreign_control_planes, kubeadm_control_planes
from kapy.apps.plan.deletions import deletions
from kapy.apps.plan.machine_deployments import machine_deployments
from kapy.apps.plan.machine_pools import machine_pools
from kapy.apps.plan.nodes import PaperNodes
from kapy.apps.plan.objects import Objects
from kapy.apps.plan.outcome import Outcome
from kapy.apps.plan.snapshot import Snapshot


def outcomes(snapshot: Snapshot, nodes: PaperNodes, now: datetime) -> Iterator[Outcome]:
    """Of everything with machines that is not as it is wanted.

    MachineDeployments and KubeadmControlPlanes are foretold by their own planners. What other
    control planes and machine pools do with their machines is their providers' business: they are
    named, and counted as done. What is going, is gone afterwards.
    """
    objects = Objects(snapshot)
    yield from deletions(objects, now)
    yield from kubeadm_control_planes(objects, now)
    yield from foreign_control_planes(objects)
    yield from machine_deployments(objects, now)
    yield from machine_pools(objects, nodes)
