"""A provider that somebody runs on a management cluster of theirs."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

from kapy._aio.clock import system_clock
from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.client.kubeconfig import Kubeconfig
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.names import NAMESPACES
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.errors import ConformanceError
from kapy.testing.conformance.findings import Remainder, Report
from kapy.testing.conformance.ground import Ground, elsewhere
from kapy.testing.conformance.pool_machines import FINALIZER
from kapy.testing.conformance.run import in_time, on_ground
from kapy.testing.conformance.session import Session
from kapy.testing.conformance.subject import REAL, Limits, Patience, Subject
from kapy.testing.conformance.verdicts import Verdicts, report
from kapy.testing.played_core import PlayedCore

_STEP: Final = 0.25


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
    subject: Subject,
    checks: Sequence[Check],
    access: Kubeconfig,
    patience: Patience = REAL,
    session: Session | None = None,
) -> Report:
    """What is known of every rule of behaviour, on a management cluster without core's controllers.

    The kit plays core in namespaces of its own, which are deleted in the end. Raises
    ConformanceError where core runs there, and what requests raise.
    """
    from kapy.client.https import Https

    transport, verdicts, session = Https(access), Verdicts(), session or Session()
    prefix = f"conformance-{secrets.token_hex(3)}"
    try:
        async with elsewhere(transport, clock=system_clock) as ground:
            ground.prefix = prefix
            try:
                async with in_time(checks, patience, verdicts, session):
                    await _refuse_core(ground, patience)
                    await on_ground(ground, subject, checks, patience, verdicts, session)
            finally:
                session.remains += await _removed(ground, patience)
    finally:
        await transport.aclose()
    return report(subject, verdicts, session.remains)


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


async def _removed(ground: Ground, patience: Patience) -> list[Remainder]:
    """Delete all namespaces of the kit. Returns those that are still there."""
    left = sorted(ground.namespaces)
    with suppress(TimeoutError):
        async with asyncio.timeout(patience.within):
            for namespace in left:
                with suppress(KapyError):
                    await _let_machines_go(ground, namespace)
                    await ground.client.delete(NAMESPACES, Key("", namespace))
            # A timer: what holds a namespace up is no object of ours.
            while left := [one for one in left if await _is_there(ground, one)]:  # noqa: ASYNC110
                await asyncio.sleep(_STEP)
    return [_remainder(one) for one in left]


async def _let_machines_go(ground: Ground, namespace: str) -> None:
    """Those of pools, of which the kit has its hand."""
    for one in (await ground.client.list(Machine.RESOURCE, namespace)).items:
        if FINALIZER in (one["metadata"].get("finalizers") or ()):
            patch: Document = {"metadata": {"finalizers": None}}
            await ground.client.patch(Machine.RESOURCE, Key.of(one), patch)


async def _is_there(ground: Ground, namespace: str) -> bool:
    """Whether a namespace is, as far as is known."""
    try:
        await ground.client.get(NAMESPACES, Key("", namespace))
    except NotFound:
        return False
    except KapyError:
        return True
    return True


def _remainder(namespace: str) -> Remainder:
    return Remainder(
        f"Namespace {namespace}",
        f"kubectl delete namespace {namespace}; where it does not go, its status.conditions name "
        f"what holds it up (kubectl get namespace {namespace} -o yaml)",
    )
