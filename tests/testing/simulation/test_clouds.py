"""Clouds that are slow and fail: of kapy's own providers, and one of a provider of one's own that
creates twice when it is asked twice."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from kapy.kube.errors import Unreachable
from kapy.sdk import Runtime
from kapy.testing.simulation import SCENARIOS, Scenario, exhaustive, run
from kapy.testing.simulation.campaign import undisturbed_run
from kapy.testing.simulation.container_engine import SimulatedEngine
from kapy.testing.simulation.custom_provider import custom_provider, instances
from kapy.testing.simulation.forking import in_rotation
from kapy.testing.simulation.points import FAULT_KINDS, Point
from tests.testing.simulation.test_custom_provider import under_test

KINDS = ("crash-before", "crash-after", "lost-reply")


class PublicCloud:
    """A cloud with servers by ID, which have names that need not be unique.

    seconds: for half of a request. failing: one request in so many is processed, and then answered
    with an error; 0 for none. looks: whether its client looks for a server before it creates one.
    """

    def __init__(self, nimbus: Any, seconds: float, failing: int, *, looks: bool) -> None:
        self._server, self._network = nimbus.cloud.Server, nimbus.cloud.Network
        self._seconds, self._failing, self._looks = seconds, failing, looks
        self._requests = self._created = 0
        self.networks: set[str] = set()
        self.servers: dict[str, tuple[str, str]] = {}

    async def _request(self) -> None:
        self._requests += 1
        await asyncio.sleep(self._seconds)

    async def _reply(self) -> None:
        is_lost = self._failing and self._requests % self._failing == 0
        await asyncio.sleep(self._seconds)
        if is_lost:
            raise Unreachable("the cloud answers 500")

    async def make_network(self, name: str, region: str) -> Any:
        await self._request()
        self.networks.add(name)
        await self._reply()
        return self._network(f"{name}.{region}.example.com", 6443)

    async def delete_network(self, name: str) -> bool:
        await self._request()
        self.networks.discard(name)
        await self._reply()
        return True

    async def make_server(
        self, network: str, name: str, size: str, version: str, user_data: bytes
    ) -> Any:
        if not (self._looks and (network, name) in self.servers.values()):
            await self._request()
            self._created += 1
            self.servers[f"i-{self._created}"] = (network, name)
            await self._reply()
        server = next(id_ for id_, key in self.servers.items() if key == (network, name))
        return self._server(server, "10.0.0.1", running=True)

    async def delete_server(self, network: str, name: str) -> bool:
        await self._request()
        for id_ in [server_id for server_id, key in self.servers.items() if key == (network, name)][
            :1
        ]:
            del self.servers[id_]
        await self._reply()
        return (network, name) not in self.servers.values()


CLOUD_KINDS = tuple(name for name in FAULT_KINDS if name.startswith("cloud-"))
SHARES = {
    "docker-create": 7,
    "docker-scale": 5,
    "docker-delete": 3,
    "create": 1,
    "scale-control-plane": 2,
    "pool": 4,
    "delete": 1,
}
"""One request to the cloud in so many gets a fault."""


@pytest.mark.slow
@pytest.mark.parametrize("name", SHARES)
def test_a_fault_of_the_cloud_keeps_every_rule(name: str) -> None:
    """Each request gets one of the kinds, in turn."""
    share = SHARES[name]

    def selects(point: Point, kind: str) -> bool:
        turn, remainder = divmod(point.number, share)
        return remainder == 0 and CLOUD_KINDS[turn % len(CLOUD_KINDS)] == kind

    verdicts = exhaustive(SCENARIOS[name], 0, CLOUD_KINDS, selects=selects)
    assert [verdict for verdict in verdicts if verdict.violations] == []
    assert len(verdicts) >= 4


def test_a_container_that_is_left_behind_breaks_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    async def keep(self: SimulatedEngine, name: str) -> bool:
        del self
        return bool(name)

    scenario = SCENARIOS["docker-delete"]
    baseline = undisturbed_run(scenario, 0)
    monkeypatch.setattr(SimulatedEngine, "remove", keep)
    outcome = run(scenario, 0, baseline=baseline)
    assert "cloud" in {violation.rule for violation in outcome.violations}


def scenario(nimbus: Any, name: str, seconds: float, failing: int, *, looks: bool) -> Scenario:
    class Simulated:
        def __init__(self) -> None:
            self.cloud = PublicCloud(nimbus, seconds, failing, looks=looks)

        def add_to(self, runtime: Runtime) -> None:
            nimbus.provider.add_to(runtime, self.cloud)

        def inventory(self) -> list[str]:
            return [*self.cloud.networks, *self.cloud.servers]

    provider = custom_provider(under_test(nimbus), instances(Simulated))
    return replace(SCENARIOS[name], provider=provider)


def at_provider(point: Point, kind: str) -> bool:
    return point.manager == "provider" and in_rotation(KINDS)(point, kind)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seconds", "failing"), [(8.0, 0), (0.1, 3)], ids=["a slow cloud", "a failing cloud"]
)
@pytest.mark.parametrize("name", ["scale-workers", "delete"])
def test_crashes_duplicate_nothing(nimbus: Any, name: str, seconds: float, failing: int) -> None:
    careful = scenario(nimbus, name, seconds, failing, looks=True)
    verdicts = exhaustive(careful, 0, KINDS, selects=at_provider)
    assert [verdict for verdict in verdicts if verdict.violations] == []
    assert len(verdicts) >= 3


@pytest.mark.slow
def test_a_provider_that_creates_twice_is_reported(nimbus: Any) -> None:
    careless = scenario(nimbus, "scale-workers", 8.0, 0, looks=False)
    verdicts = exhaustive(careless, 0, KINDS, selects=lambda point, _: point.manager == "provider")
    failing = [verdict for verdict in verdicts if verdict.violations]
    assert {verdict.violations[0].rule for verdict in failing} == {"cloud"}


@pytest.mark.slow
def test_a_failing_cloud_keeps_every_rule(nimbus: Any) -> None:
    outcome = run(scenario(nimbus, "create", 0.1, 2, looks=True), 0)
    assert outcome.violations == []
