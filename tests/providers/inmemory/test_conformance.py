"""DevCluster, DevMachine and DevMachinePool keep their contracts, whatever else they can do."""

from __future__ import annotations

from typing import Final

from kapy.testing.conformance.behaviour import BEHAVIOUR
from kapy.testing.conformance.findings import State
from kapy.testing.conformance.run import run_checks
from tests.testing.conformance.behaviour.providers import in_memory

DOCUMENTS: Final = ("infra-cluster", "infra-machine", "infra-machinepool", "clusterctl")


async def test_the_in_memory_provider_keeps_every_rule() -> None:
    report = await run_checks(in_memory(), BEHAVIOUR)
    assert {item.rule.id: item.findings for item in report.with_state(State.BROKEN)} == {}
    not_run = {item.rule.id: item.reason for item in report.with_state(State.NOT_RUN)}
    looked = {check.rule for check in BEHAVIOUR if check.role in DOCUMENTS}
    assert looked & set(not_run) == set(), not_run
