"""Watches clusters until they are available, and reports their progress."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from kapy.client.client import Client
from kapy.clusterctl.describe.source import CLUSTERS
from kapy.clusterctl.describe.tree import condition
from kapy.kube import Document, Key
from kapy.kube.errors import Expired, KapyError, NotFound

MAX_LINES: Final = 12
_PULLING: Final = "pulling image"
STEPS: Final = (
    ("InfrastructureReady", "infrastructure is ready"),
    ("ControlPlaneInitialized", "control plane is initialized"),
    ("ControlPlaneAvailable", "control plane is available"),
    ("WorkersAvailable", "workers are available"),
    ("Available", "cluster is available"),
)

Print = Callable[[Key, str], None]
"""Told each step of each cluster once, when it is done."""


class ClusterNotReady(KapyError):
    """A cluster did not become Available in time; the message is its reason."""


@dataclass
class ClusterProgress:
    """The progress of one cluster, with the steps and failures that were reported."""

    key: Key
    document: Document | None = None
    steps_done: int = 0
    troubles: set[str] = field(default_factory=set)

    def update(self, document: Document, say: Print) -> None:
        """Report the steps that are done, in their order, and new failures."""
        self.document = document
        for trouble in _troubles(document):
            if trouble not in self.troubles:
                self.troubles.add(trouble)
                say(self.key, trouble)
        while self.steps_done < len(STEPS) and _is_true(document, STEPS[self.steps_done][0]):
            say(self.key, STEPS[self.steps_done][1])
            self.steps_done += 1

    @property
    def available(self) -> bool:
        """Whether all steps are done and all counters have their desired values."""
        document = self.document
        return document is not None and self.steps_done == len(STEPS) and is_complete(document)

    def reason(self) -> str:
        """Return why the cluster is not available, from its own condition."""
        if self.document is None:
            return f"cluster {self.key} was not seen"
        result = condition(self.document, "Available")
        value = "it has no condition yet" if result is None else str(result.get("message") or "")
        lines = [line.strip("* ").strip() for line in value.splitlines() if line.strip()]
        message = "; ".join(_without_repeats(lines)) or "no reason was given"
        return f"cluster {self.key} is not Available: {message}"


def _troubles(cluster: Document) -> Iterator[str]:
    """Yield the permanent failures in the conditions of a Cluster: an infrastructure that cannot be
    created, a machine that failed.
    """
    lines = _condition_lines(cluster, "InfrastructureReady")
    for name, _, reason in (line.partition(": ") for line in lines):
        if name == "LoadBalancerAvailable" and reason and not reason.startswith(_PULLING):
            yield reason
    for of in ("ControlPlaneMachinesReady", "WorkerMachinesReady"):
        lines = _condition_lines(cluster, of)
        begins = next((at for at, line in enumerate(lines) if line.startswith("ERROR:")), None)
        if begins is not None:
            result = "\n  ".join(lines[begins : begins + MAX_LINES])
            yield f"a machine failed to boot; `describe cluster` shows which:\n  {result}\n "


def _condition_lines(cluster: Document, of: str) -> list[str]:
    """Return the lines of a condition that is not True, without list marks."""
    result = condition(cluster, of)
    if result is None or result.get("status") == "True":
        return []
    lines = str(result.get("message") or "").splitlines()
    return [text for line in lines if (text := line.strip("* ").strip())]


def _without_repeats(lines: Iterable[str]) -> Iterator[str]:
    """Yield each reason once, with the names of all conditions that wait for it."""
    conditions: dict[str, list[str]] = {}
    for line in lines:
        name, colon, reason = line.partition(": ")
        conditions.setdefault(reason if colon else line, []).append(name if colon else "")
    for reason, names in conditions.items():
        reported = ", ".join(filter(None, names))
        yield f"{reported}: {reason}" if reported else reason


def is_complete(cluster: Document) -> bool:
    """Return whether the cluster is Available and has the desired number of machines, all of them
    ready.
    """
    status = cluster.get("status") or {}
    parts = [part for name in ("controlPlane", "workers") if (part := status.get(name))]
    counted = ("replicas", "readyReplicas", "upToDateReplicas")
    whole = all(part.get(name) == part.get("desiredReplicas") for part in parts for name in counted)
    return _is_true(cluster, "Available") and bool(parts) and whole


async def wait_until_available(
    client: Client, clusters: Iterable[Key], say: Print, *, within: float
) -> list[Document]:
    """Wait until all clusters are complete; returns them. Raises ClusterNotReady after `within`
    seconds.
    """
    watched = {key: ClusterProgress(key) for key in clusters}
    try:
        async with asyncio.timeout(within):
            while not all(progress.available for progress in watched.values()):
                await _follow(client, watched, say)
    except TimeoutError:
        reasons = [progress.reason() for progress in watched.values() if not progress.available]
        raise ClusterNotReady("; ".join(reasons)) from None
    return [progress.document for progress in watched.values() if progress.document is not None]


async def delete_and_wait(client: Client, cluster: Key) -> None:
    """Delete a cluster and wait until it is gone; do nothing if it does not exist."""
    with suppress(NotFound):
        await client.delete(CLUSTERS, cluster)
    while True:
        listed = await client.list(CLUSTERS)
        if cluster not in map(Key.of, listed.items):
            return
        with suppress(Expired):
            async with client.watch(CLUSTERS, resource_version=listed.resource_version) as events:
                async for event in events:
                    if event.type == "DELETED" and Key.of(event.document) == cluster:
                        return


async def _follow(client: Client, progress: dict[Key, ClusterProgress], say: Print) -> None:
    """Process a list and the watch events after it, until all are available or the watch ends."""
    listed = await client.list(CLUSTERS)
    for document in listed.items:
        _update(progress, document, say)
    if all(value.available for value in progress.values()):
        return
    try:
        async with client.watch(CLUSTERS, resource_version=listed.resource_version) as events:
            async for event in events:
                if event.type in ("ADDED", "MODIFIED"):
                    _update(progress, event.document, say)
                if all(value.available for value in progress.values()):
                    return
    except Expired:
        return


def _update(progress: dict[Key, ClusterProgress], document: Document, say: Print) -> None:
    result = progress.get(Key.of(document))
    if result is not None:
        result.update(document, say)


def _is_true(document: Document, of: str) -> bool:
    result = condition(document, of)
    return result is not None and result.get("status") == "True"
