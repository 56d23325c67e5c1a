"""Behaviour checks as assertions, for tests of providers that use the SDK.

    async def test_the_contract() -> None:
        await check_infra_machine(FakeMachine, EXAMPLE, lambda _: FakeCloud())

Each function raises AssertionError with every rule that is broken or could not be checked. The
functions are coroutines and run on virtual time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.kube import Document, Key
from kapy.kube.names import Resource
from kapy.sdk import (
    Failed,
    InfraClusterProvider,
    InfraMachinePoolProvider,
    InfraMachineProvider,
    MachineContext,
    Provisioned,
    Released,
    Runtime,
    Waiting,
    add_infra_cluster,
    add_infra_machine,
    add_infra_machine_pool,
)
from kapy.testing.conformance.behaviour import infrastructure
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.findings import State
from kapy.testing.conformance.in_process import Add, InProcess
from kapy.testing.conformance.provider_under_test import Kind, ProviderUnderTest

FINALIZER: Final = "conformance.cluster.x-k8s.io/check"


async def check_infra_machine(
    kind: type[Any] | Resource,
    example: Document,
    make: Callable[[Runtime], InfraMachineProvider[Any]],
) -> None:
    """Check the InfraMachine contract. example: an object of the kind, as a user would write it."""
    ids: defaultdict[tuple[Key, str], list[str]] = defaultdict(list)

    def add(runtime: Runtime) -> None:
        provider = _RecordingProvider(make(runtime), ids)
        add_infra_machine(runtime, kind, provider, finalizer=FINALIZER)

    problems = await _problems(
        Kind.of("infra-machine", kind, example), add, infrastructure.MACHINE_CHECKS
    )
    problems += [
        f"infra-machine/provider-id-value: {key}: it must stay as it is, was {value[0]!r}, is "
        f"{value[-1]!r}"
        for (key, _), value in ids.items()
        if len(value) > 1
    ]
    assert not problems, "\n".join(problems)


class _RecordingProvider(InfraMachineProvider[Any]):
    """Records the provider IDs that a provider returns: the SDK stores only the first one."""

    def __init__(
        self, provider: InfraMachineProvider[Any], ids: defaultdict[tuple[Key, str], list[str]]
    ) -> None:
        self._provider = provider
        self._ids = ids

    async def reconcile_normal(self, order: MachineContext[Any]) -> Provisioned | Failed | Waiting:
        answer = await self._provider.reconcile_normal(order)
        text = self._ids[order.key, order.uid]
        if isinstance(answer, Provisioned) and answer.provider_id not in text:
            text.append(answer.provider_id)
        return answer

    async def reconcile_delete(self, order: MachineContext[Any]) -> Released | Waiting:
        return await self._provider.reconcile_delete(order)

    def before_start(self, order: MachineContext[Any], reason: str) -> Sequence[Condition]:
        return self._provider.before_start(order, reason)

    def for_v1beta1(self, reported: Sequence[Condition]) -> Sequence[V1Beta1Condition]:
        return self._provider.for_v1beta1(reported)


async def check_infra_cluster(
    kind: type[Any] | Resource,
    example: Document,
    make: Callable[[Runtime], InfraClusterProvider[Any]],
) -> None:
    """Check the InfraCluster contract. example: an object of the kind, as a user would write it."""

    def add(runtime: Runtime) -> None:
        add_infra_cluster(runtime, kind, make(runtime), finalizer=FINALIZER)

    await check(Kind.of("infra-cluster", kind, example), add, infrastructure.CLUSTER_CHECKS)


async def check_infra_machine_pool(
    kind: type[Any] | Resource,
    example: Document,
    make: Callable[[Runtime], InfraMachinePoolProvider[Any]],
) -> None:
    """Check the InfraMachinePool contract. example: an object of the kind, as a user would write
    it.
    """

    def add(runtime: Runtime) -> None:
        add_infra_machine_pool(runtime, kind, make(runtime), finalizer=FINALIZER)

    await check(Kind.of("infra-machinepool", kind, example), add, infrastructure.POOL_CHECKS)


async def check(kind: Kind, add: Add, checks: Iterable[Check]) -> None:
    """Check a kind whose controllers are added to a runtime by `add`."""
    problems = await _problems(kind, add, checks)
    assert not problems, "\n".join(problems)


async def _problems(kind: Kind, add: Add, checks: Iterable[Check]) -> list[str]:
    chosen = tuple(checks)
    from kapy.testing.conformance.run import run_checks  # circular: `run` imports the checks

    report = await run_checks(
        ProviderUnderTest(kind.resource.kind, (kind,), InProcess(add)), chosen, light=True
    )
    rules = {item.rule for item in chosen}
    broken = [
        f"{result.rule.id}: {finding.place}: {finding.evidence}; {finding.remedy}"
        for result in report.with_state(State.BROKEN)
        for finding in result.findings
    ]
    not_run = (item for item in report.with_state(State.NOT_RUN) if item.rule.id in rules)
    return [*broken, *(f"{item.rule.id}: not run: {item.reason}" for item in not_run)]
