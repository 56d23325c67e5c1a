"""Bugs of a provider of one's own that only its cloud shows, and a cloud that is slow and fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kapy.sdk import Runtime
from kapy.testing.simulation import SCENARIOS, Scenario, disturb_cloud, exhaustive, play, run
from kapy.testing.simulation.custom_provider import custom_provider, instances
from kapy.testing.simulation.points import parse_faults
from kapy.testing.simulation.provider_runs import CLOUD_KINDS, simulate_provider
from tests.testing.simulation.test_custom_provider import under_test


def scenario(nimbus: Any, name: str, machines: Callable[[Any], Any] | None = None) -> Scenario:
    """A scenario with a cloud that is disturbed. machines: another provider of machines."""

    class Simulated:
        def __init__(self) -> None:
            self.cloud = nimbus.fake_cloud.FakeCloud()

        def add_to(self, runtime: Runtime) -> None:
            usual = nimbus.provider.Machines
            nimbus.provider.Machines = machines or usual
            try:
                nimbus.provider.add_to(runtime, disturb_cloud(self.cloud))
            finally:
                nimbus.provider.Machines = usual

        def inventory(self) -> list[str]:
            return [*self.cloud.networks, *(server.id for server in self.cloud.servers.values())]

    return replace(
        SCENARIOS[name], provider=custom_provider(under_test(nimbus), instances(Simulated))
    )


def hasty(nimbus: Any) -> Any:
    """Machines that are given up before they are gone."""

    class Hasty(nimbus.provider.Machines):  # type: ignore[misc]
        async def reconcile_delete(self, context: Any) -> Any:
            del context
            return nimbus.provider.Released()

    return Hasty


def numbering(nimbus: Any) -> Any:
    """Machines whose servers get a new name as long as no provider ID is stored."""

    class Numbering(nimbus.provider.Machines):  # type: ignore[misc]
        numbers = 0

        async def reconcile_normal(self, context: Any) -> Any:
            if context.object.spec.provider_id:
                return nimbus.provider.Provisioned(provider_id=context.object.spec.provider_id)
            Numbering.numbers += 1
            server = await self._cloud.make_server(
                nimbus.provider.network_of(context.cluster),
                f"{context.key.name}-{Numbering.numbers}",
                "small",
                context.version,
                context.bootstrap_data,
            )
            return nimbus.provider.Provisioned(provider_id=f"nimbus://{server.id}")

    return Numbering


def test_servers_that_outlive_their_machines_are_reported_without_a_fault(nimbus: Any) -> None:
    outcome = run(scenario(nimbus, "delete", hasty(nimbus)), 0)
    texts = [str(violation) for violation in outcome.violations]
    assert any(text.startswith("finalizers: NimbusMachine meadow-cp-") for text in texts)
    assert any(text.startswith("cloud: no Cluster is left, and it has 2 (") for text in texts)
    assert run(scenario(nimbus, "delete"), 0).violations == []


def test_a_conformance_report_has_the_rule_that_fails_without_a_fault(
    nimbus: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kapy.testing.simulation.provider_runs.PLAYED", ("scale-workers",))
    provider = scenario(nimbus, "scale-workers", hasty(nimbus)).provider
    assert provider is not None
    [(rule, finding)] = simulate_provider(provider, [0], lambda _: None)
    assert rule == "infra-machine/deletion"
    assert "went while its machine" in finding.evidence
    assert finding.remedy.endswith("--scenario scale-workers --seed 0 --faults none")


def test_a_lost_reply_of_the_cloud_finds_what_is_made_twice(nimbus: Any) -> None:
    faults = parse_faults("cloud-lost-reply@provider:c2")
    outcome = play(scenario(nimbus, "create", numbering(nimbus)), 0, faults)
    assert [violation.rule for violation in outcome.violations] == ["cloud"]
    [step] = [step for step in outcome.steps if step["what"] == "fault"]
    assert step["request"].startswith("make_server default.meadow meadow-cp-")
    assert play(scenario(nimbus, "create"), 0, faults).violations == []


@pytest.mark.slow
def test_the_tutorials_provider_bears_every_fault_of_its_cloud(nimbus: Any) -> None:
    verdicts = exhaustive(
        scenario(nimbus, "scale-workers"),
        0,
        CLOUD_KINDS,
        selects=lambda point, kind: CLOUD_KINDS[point.number % len(CLOUD_KINDS)] == kind,
    )
    assert len(verdicts) >= 5
    assert [verdict for verdict in verdicts if verdict.violations] == []


@pytest.mark.slow
def test_a_conformance_run_disturbs_the_cloud(nimbus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kapy.testing.simulation.provider_runs.PLAYED", ("create",))
    monkeypatch.setattr("kapy.testing.simulation.provider_runs.EVERY_WRITE", ("conflict",))
    provider = scenario(nimbus, "create", numbering(nimbus)).provider
    assert provider is not None
    [(rule, finding)] = simulate_provider(provider, range(3), lambda _: None)
    assert rule == "infra-machine/once"
    assert "@provider:c" in finding.evidence


def test_a_fault_that_did_not_happen_is_in_the_outcome(nimbus: Any) -> None:
    faults = parse_faults("crash-before@provider:w1,crash-after@provider:w999")
    outcome = play(scenario(nimbus, "create"), 0, faults)
    assert outcome.missed == faults[1:]


def test_a_cloud_is_not_disturbed_outside_of_a_simulation(nimbus: Any) -> None:
    cloud = nimbus.fake_cloud.FakeCloud()
    reached = disturb_cloud(cloud)
    network = asyncio.run(reached.make_network("blue", "north"))
    assert cloud.networks == reached.networks == {"blue": network}
