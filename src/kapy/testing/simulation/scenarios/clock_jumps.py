"""Scenarios of long times: clocks that jump by months, certificates that must be renewed."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from kapy.kube import Document
from kapy.testing.simulation.scenarios.manifests import HEALTH_CHECKS, plain_cluster
from kapy.testing.simulation.scenarios.scenario import Scenario, available_with, without
from kapy.testing.simulation.user import User

EXPIRY_DAYS: Final = 30
"""A control plane machine is replaced this many days before its certificates expire."""
JUMP: Final = timedelta(days=340)


def lasting_cluster(*, control_planes: int, workers: int) -> list[Document]:
    """Return a cluster whose control plane machines are replaced before certificates expire."""
    documents = plain_cluster(control_planes=control_planes, workers=workers)
    for document in documents:
        if document["kind"] == "KubeadmControlPlane":
            document["spec"]["rollout"] = {"before": {"certificatesExpiryDays": EXPIRY_DAYS}}
    return documents


async def _lasting_1_1(user: User) -> None:
    await user.apply(HEALTH_CHECKS)
    await user.apply(lasting_cluster(control_planes=1, workers=1))
    await user.until("the cluster is available", available_with(1, 1))


async def _clock_jump(user: User) -> None:
    """All clocks jump ahead, as after a machine was suspended: the control plane is replaced."""
    old = [machine["metadata"]["name"] for machine in user.view.machines(control_plane=True)]
    workers = {machine["metadata"]["name"] for machine in user.view.machines(control_plane=False)}
    user.jump_clocks(JUMP)
    goal = without(user.view, old, available_with(1, 1))
    await user.until(
        "the control plane has new certificates, and the worker stays",
        lambda view: (
            goal(view)
            and workers
            == {machine["metadata"]["name"] for machine in view.machines(control_plane=False)}
        ),
    )


CLOCK_JUMPS: Final = (
    Scenario(
        "clock-jump",
        "All clocks jump by eleven months, and certificates are renewed.",
        _clock_jump,
        _lasting_1_1,
        1400,
        share=4,
    ),
)
