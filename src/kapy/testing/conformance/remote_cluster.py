"""Check a provider that already runs on a management cluster."""

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
from kapy.testing.conformance.check_results import CheckResults, report
from kapy.testing.conformance.environment import Environment, remote
from kapy.testing.conformance.errors import ConformanceError
from kapy.testing.conformance.findings import Leftover, Report
from kapy.testing.conformance.pool_machines import FINALIZER
from kapy.testing.conformance.provider_under_test import REAL, Limits, ProviderUnderTest, Timeouts
from kapy.testing.conformance.run import run_in_environment, time_limit
from kapy.testing.conformance.run_context import RunContext
from kapy.testing.fake_core import FakeCore

_STEP: Final = 0.25


@dataclass(frozen=True)
class AlreadyRunning:
    """A launcher for a provider that already runs."""

    network: bool = True
    restarts: bool = False

    @asynccontextmanager
    async def running(self, environment: Environment, limits: Limits) -> AsyncIterator[None]:
        """Return a context that starts and stops nothing, since the provider runs already."""
        del environment, limits
        yield


async def run_checks_on_remote_cluster(
    provider: ProviderUnderTest,
    checks: Sequence[Check],
    access: Kubeconfig,
    timeouts: Timeouts = REAL,
    context: RunContext | None = None,
) -> Report:
    """Run the behaviour checks on a management cluster without core controllers.

    The kit stands in for core in namespaces of its own, and deletes them at the end. Raises
    ConformanceError if core runs there, and the errors of requests.
    """
    from kapy.client.https import ApiTransport

    transport, results, context = ApiTransport(access), CheckResults(), context or RunContext()
    prefix = f"conformance-{secrets.token_hex(3)}"
    try:
        async with remote(transport, clock=system_clock) as environment:
            environment.prefix = prefix
            try:
                async with time_limit(checks, timeouts, results, context):
                    await _refuse_core(environment, timeouts)
                    await run_in_environment(
                        environment, provider, checks, timeouts, results, context
                    )
            finally:
                context.leftovers += await _delete_namespaces(environment, timeouts)
    finally:
        await transport.aclose()
    return report(provider, results, context.leftovers)


async def _refuse_core(environment: Environment, timeouts: Timeouts) -> None:
    """Raise ConformanceError if core controllers act on the management cluster."""
    namespace, name = f"{environment.prefix}-core", "nobodys"
    await environment.create_namespace(namespace)
    core = FakeCore(environment.client, namespace, lambda _: Cluster.RESOURCE)
    await core.cluster(name)
    # A timer: the absence of core sends no event.
    await asyncio.sleep(timeouts.quiet)
    result = await environment.client.get(Cluster.RESOURCE, Key(namespace, name))
    if result["metadata"].get("finalizers") or result.get("status"):
        await environment.client.delete(Cluster.RESOURCE, Key(namespace, name))
        raise ConformanceError(
            "Cluster API's core runs in this management cluster, and the kit has to play core "
            "there: stop it (kubectl -n capi-system scale deployment capi-controller-manager "
            "--replicas 0), or name a cluster in which only the provider runs"
        )


async def _delete_namespaces(environment: Environment, timeouts: Timeouts) -> list[Leftover]:
    """Delete all namespaces of the kit; return those that remain."""
    remaining = sorted(environment.namespaces)
    with suppress(TimeoutError):
        async with asyncio.timeout(timeouts.within):
            for namespace in remaining:
                with suppress(KapyError):
                    await _remove_machine_finalizers(environment, namespace)
                    await environment.client.delete(NAMESPACES, Key("", namespace))
            # A timer: the objects that hold a namespace are unknown.
            while remaining := [item for item in remaining if await _is_there(environment, item)]:  # noqa: ASYNC110
                await asyncio.sleep(_STEP)
    return [_remainder(item) for item in remaining]


async def _remove_machine_finalizers(environment: Environment, namespace: str) -> None:
    """Remove the kit's finalizer from Machines of pools."""
    for item in (await environment.client.list(Machine.RESOURCE, namespace)).items:
        if FINALIZER in (item["metadata"].get("finalizers") or ()):
            patch: Document = {"metadata": {"finalizers": None}}
            await environment.client.patch(Machine.RESOURCE, Key.of(item), patch)


async def _is_there(environment: Environment, namespace: str) -> bool:
    """Return whether a namespace exists, as far as is known."""
    try:
        await environment.client.get(NAMESPACES, Key("", namespace))
    except NotFound:
        return False
    except KapyError:
        return True
    return True


def _remainder(namespace: str) -> Leftover:
    return Leftover(
        f"Namespace {namespace}",
        f"kubectl delete namespace {namespace}; where it does not go, its status.conditions name "
        f"what holds it up (kubectl get namespace {namespace} -o yaml)",
    )
