"""A user's workload in the cluster: Pods with a disruption budget, and a watcher of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.names import DEPLOYMENTS, Resource
from tests.real_clusters.images import PAUSE_IMAGE
from tests.real_clusters.life import STEP, Life, beside
from tests.real_clusters.parts import tell

WEB: Final = Key("default", "web")
BUDGETS: Final = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
_LABELS: Final = {"app": "web"}


async def deploy(life: Life, replicas: int) -> None:
    """Run Pods, of which a budget wants one at any moment."""
    client = await life.workload()
    containers = [{"name": "pause", "image": PAUSE_IMAGE}]
    spec: Document = {"containers": containers, "terminationGracePeriodSeconds": 1}
    template = {"metadata": {"labels": _LABELS}, "spec": spec}
    selector = {"matchLabels": _LABELS}
    metadata = {"name": WEB.name, "namespace": WEB.namespace}
    await client.create(
        BUDGETS,
        {
            "apiVersion": BUDGETS.api_version,
            "kind": BUDGETS.kind,
            "metadata": metadata,
            "spec": {"minAvailable": 1, "selector": selector},
        },
    )
    await client.create(
        DEPLOYMENTS,
        {
            "apiVersion": DEPLOYMENTS.api_version,
            "kind": DEPLOYMENTS.kind,
            "metadata": metadata,
            "spec": {"replicas": replicas, "selector": selector, "template": template},
        },
    )
    await deployed(life, replicas)


async def scale(life: Life, replicas: int) -> None:
    """Have another number of Pods."""
    client = await life.workload()
    await client.patch(DEPLOYMENTS, WEB, {"spec": {"replicas": replicas}})
    await deployed(life, replicas)


async def deployed(life: Life, replicas: int) -> None:
    """Wait until that many Pods are available."""
    await life.in_cluster(DEPLOYMENTS, WEB, lambda deployment: _available(deployment) == replicas)


def _available(deployment: Document) -> int:
    return int((deployment.get("status") or {}).get("availableReplicas") or 0)


@dataclass
class Watcher:
    """Looks again and again how many Pods are available. longest: seconds without an answer."""

    life: Life
    least: int | None = None
    longest: float = 0.0

    async def run(self) -> None:
        """Look until cancelled."""
        answered = time.monotonic()
        while True:
            with suppress(KapyError):
                client = await self.life.workload()
                number = _available(await client.get(DEPLOYMENTS, WEB))
                self.least = number if self.least is None else min(self.least, number)
                answered = time.monotonic()
            self.longest = max(self.longest, time.monotonic() - answered)
            await asyncio.sleep(STEP)


@asynccontextmanager
async def watched(life: Life) -> AsyncIterator[None]:
    """While somebody looks whether a Pod of the Deployment is available: never is none.

    How long the API server did not answer is told.
    """
    watcher = Watcher(life)
    async with beside(watcher.run()):
        yield
    tell(f"  longest time without an answer of the API server: {watcher.longest:.1f} s")
    assert watcher.least, "no Pod of the Deployment was available at some moment"
