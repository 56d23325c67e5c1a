"""A provider of one's own makes the machines of scenarios, under the same faults and rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kapy.apps.provider.definitions import crds_of
from kapy.sdk import Runtime
from kapy.testing.conformance.in_process import InProcess
from kapy.testing.conformance.provider_under_test import Kind, ProviderUnderTest
from kapy.testing.provider import kinds_of
from kapy.testing.simulation import SCENARIOS, Scenario, exhaustive, run
from kapy.testing.simulation.campaign import shrunk
from kapy.testing.simulation.custom_provider import NotSimulated, custom_provider, instances
from kapy.testing.simulation.provider_runs import simulate_provider

API = {"apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1"}
EXAMPLES = [
    {**API, "kind": "NimbusCluster", "spec": {"region": "south"}},
    {**API, "kind": "NimbusMachine", "spec": {"size": "large"}},
]


def under_test(nimbus: Any, kinds: tuple[Kind, ...] | None = None) -> ProviderUnderTest:
    provider = nimbus.provider.PROVIDER
    provider_kinds = kinds_of(provider, EXAMPLES) if kinds is None else kinds
    return ProviderUnderTest(
        "nimbus", provider_kinds, InProcess(provider.add_to), crds_of(provider)
    )


def scenario(nimbus: Any, name: str, *, forgets: bool = False) -> Scenario:
    """A scenario whose machines are on paper. forgets: a new process knows no server."""

    class Forgetful(nimbus.provider.Machines):  # type: ignore[misc]
        def __init__(self, cloud: Any) -> None:
            super().__init__(cloud)
            self.made: set[str] = set()

        async def reconcile_normal(self, context: Any) -> Any:
            self.made.add(context.uid)
            return await super().reconcile_normal(context)

        async def reconcile_delete(self, context: Any) -> Any:
            if context.uid not in self.made:
                return nimbus.provider.Released()
            return await super().reconcile_delete(context)

    class Simulated:
        def __init__(self) -> None:
            self.cloud = nimbus.fake_cloud.FakeCloud()

        def add_to(self, runtime: Runtime) -> None:
            usual = nimbus.provider.Machines
            nimbus.provider.Machines = Forgetful if forgets else usual
            try:
                nimbus.provider.add_to(runtime, self.cloud)
            finally:
                nimbus.provider.Machines = usual

        def inventory(self) -> list[str]:
            return [*self.cloud.networks, *(name for _, name in self.cloud.servers)]

    provider = custom_provider(under_test(nimbus), instances(Simulated), " --release here")
    return replace(SCENARIOS[name], provider=provider)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["create-class", "upgrade-control-plane", "drain", "delete"])
def test_scenarios_keep_every_rule_with_machines_of_a_provider(nimbus: Any, name: str) -> None:
    outcome = run(scenario(nimbus, name), 0)
    assert outcome.violations == []
    assert outcome.baseline is not None
    assert len(outcome.baseline.cloud or ()) == {"delete": 0, "create-class": 3}.get(name, 4)
    assert outcome.baseline.points["provider", "w"] > 2


@pytest.mark.slow
def test_a_provider_that_forgets_its_instances_is_reported(nimbus: Any) -> None:
    wrong = scenario(nimbus, "delete", forgets=True)
    verdicts = exhaustive(
        wrong, 0, ["crash-after"], selects=lambda point, _: point.manager == "provider"
    )
    failing = [verdict for verdict in verdicts if verdict.violations]
    assert {verdict.violations[0].rule for verdict in failing} == {"cloud"}
    story = shrunk(wrong, 0, failing[0]).story
    assert "without faults it has nothing" in story
    assert "Replay: kapy simulate --release here --scenario delete --seed 0 --faults" in story


@pytest.mark.slow
@pytest.mark.parametrize("forgets", [False, True])
def test_a_report_names_the_seed_and_the_command(
    nimbus: Any, monkeypatch: pytest.MonkeyPatch, *, forgets: bool
) -> None:
    monkeypatch.setattr("kapy.testing.simulation.provider_runs.PLAYED", ("delete",))
    provider = scenario(nimbus, "delete", forgets=forgets).provider
    assert provider is not None
    findings = list(simulate_provider(provider, range(3), lambda _: None))
    if not forgets:
        assert findings == []
        return
    [(rule, finding)] = findings
    assert rule == "infra-machine/deletion"
    assert "scenario delete, seed " in finding.evidence
    assert finding.remedy.startswith("replay it: kapy simulate --release here --scenario delete")


def test_only_infrastructure_providers_are_simulated(nimbus: Any) -> None:
    machine = kinds_of(nimbus.provider.PROVIDER, EXAMPLES)[1:]
    with pytest.raises(NotSimulated, match="no kind of infra-cluster"):
        custom_provider(under_test(nimbus, machine), instances(InProcess))
