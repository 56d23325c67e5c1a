"""A provider that somebody runs on a management cluster of theirs."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from kapy._aio.clock import system_clock
from kapy._aio.services import running
from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.client.kubeconfig import Kubeconfig
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.names import NAMESPACES
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.errors import ConformanceError
from kapy.testing.conformance.findings import Report
from kapy.testing.conformance.ground import Ground, elsewhere
from kapy.testing.conformance.pool_machines import FINALIZER
from kapy.testing.conformance.run import on_ground
from kapy.testing.conformance.seen import Seen
from kapy.testing.conformance.subject import REAL, Limits, Patience, Subject
from kapy.testing.conformance.verdicts import Verdicts, report
from kapy.testing.played_core import PlayedCore


@dataclass(frozen=True)
class Elsewhere:
    """It runs already."""

    network: bool = True
    restarts: bool = False

    @asynccontextmanager
    async def running(self, ground: Ground, limits: Limits) -> AsyncIterator[None]:
        """Nothing to do."""
        del ground, limits
        yield


async def judged_elsewhere(
    subject: Subject, checks: Sequence[Check], access: Kubeconfig, patience: Patience = REAL
) -> Report:
    """What is known of every rule of behaviour, on a management cluster without core's controllers.

    The kit plays core in namespaces of its own, which are deleted in the end. Raises
    ConformanceError where core runs there, and what requests raise.
    """
    from kapy.client.https import Https

    transport, verdicts = Https(access), Verdicts()
    prefix = f"conformance-{secrets.token_hex(3)}"
    try:
        async with elsewhere(transport, clock=system_clock) as ground:
            ground.prefix = prefix
            try:
                await _refuse_core(ground, patience)
                await on_ground(ground, subject, checks, patience, verdicts)
            finally:
                verdicts.remains += await _tidied(ground, patience)
    finally:
        await transport.aclose()
    return report(subject, verdicts)


async def _refuse_core(ground: Ground, patience: Patience) -> None:
    """Raises ConformanceError where somebody else does what the kit does."""
    namespace, name = f"{ground.prefix}-core", "nobodys"
    await ground.namespace(namespace)
    core = PlayedCore(ground.client, namespace, lambda _: Cluster.RESOURCE)
    await core.cluster(name)
    # A timer: nothing tells that nobody is there.
    await asyncio.sleep(patience.quiet)
    found = await ground.client.get(Cluster.RESOURCE, Key(namespace, name))
    if found["metadata"].get("finalizers") or found.get("status"):
        await ground.client.delete(Cluster.RESOURCE, Key(namespace, name))
        raise ConformanceError(
            "Cluster API's core runs in this management cluster, and the kit has to play core "
            "there: stop it (kubectl -n capi-system scale deployment capi-controller-manager "
            "--replicas 0), or name a cluster in which only the provider runs"
        )


async def _tidied(ground: Ground, patience: Patience) -> list[str]:
    """Delete all namespaces of the kit and wait until they are gone; the provider, which goes on,
    frees what is its. Returns those that are still there, and what to do."""
    for namespace in sorted(ground.namespaces):
        with suppress(KapyError):
            for one in (await ground.client.list(Machine.RESOURCE, namespace)).items:
                if FINALIZER in (one["metadata"].get("finalizers") or ()):
                    patch: Document = {"metadata": {"finalizers": None}}
                    await ground.client.patch(Machine.RESOURCE, Key.of(one), patch)
            await ground.client.delete(NAMESPACES, Key("", namespace))
    return await _remaining(ground, patience)


async def _remaining(ground: Ground, patience: Patience) -> list[str]:
    """The namespaces of the kit that do not go in time."""
    seen = Seen(ground.client, None)
    async with running(seen=seen.run):
        try:
            async with asyncio.timeout(patience.within):
                await seen.follow(NAMESPACES)
                for namespace in ground.namespaces:
                    await seen.until(NAMESPACES, Key("", namespace), _is_gone, patience.within)
        except TimeoutError:
            pass
        there = [one for one in ground.namespaces if seen.last(NAMESPACES, Key("", one))]
        return [
            f"namespace {one}: it does not go, find out what is in it and why (kubectl get "
            f"namespace {one} -o yaml), then: kubectl delete namespace {one}"
            for one in sorted(there)
        ]


def _is_gone(document: Document | None) -> bool:
    return document is None
