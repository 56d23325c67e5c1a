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
    assert {one.rule.id: one.findings for one in report.with_state(State.BROKEN)} == {}
    not_run = {one.rule.id: one.reason for one in report.with_state(State.NOT_RUN)}
    looked = {one.rule for one in BEHAVIOUR if one.role in DOCUMENTS}
    assert looked & set(not_run) == set(), not_run
