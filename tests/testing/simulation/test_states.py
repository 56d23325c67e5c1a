"""States in which a run ends as another one has gone on from there: they show all that matters."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from kapy.kube import Key
from kapy.providers.docker.containers import NETWORK
from kapy.providers.docker.load_balancer_config import PATH
from kapy.testing.simulation import SCENARIOS, exhaustive
from kapy.testing.simulation.container_engine import SimulatedEngine
from kapy.testing.simulation.extension import holding_extension
from kapy.testing.simulation.foreign_control_plane import Services
from kapy.testing.simulation.points import Point

CALL = ("BeforeClusterUpgrade", "meadow", "v1.35.0")
CONFIG = {"Image": "node", "Labels": {"io.x-k8s.kind.role": "worker"}}


@pytest.mark.parametrize(
    "change",
    [
        lambda extension: extension.asked.add(CALL),
        lambda extension: extension.allowed.add(CALL),
        lambda extension: extension.updating.add("meadow-md-0"),
        lambda extension: extension.begun.add("another template"),
    ],
)
def test_a_state_has_all_that_an_extension_remembers(change: Callable[[Any], None]) -> None:
    extension = holding_extension()
    before = list(extension.lines())
    change(extension)
    assert list(extension.lines()) != before


async def _engine() -> SimulatedEngine:
    engine = SimulatedEngine()
    engine.images.add("node")
    await engine.create_network(NETWORK, {})
    await engine.create("first", CONFIG)
    await engine.start("first")
    return engine


async def _create(engine: SimulatedEngine) -> None:
    await engine.create("second", CONFIG)


async def _balance(engine: SimulatedEngine) -> None:
    engine.made["first"].files[PATH] = b"  server meadow-cp-0 172.18.0.3:6443\n"


async def _run(engine: SimulatedEngine) -> None:
    engine.made["first"].ran.append("systemctl start kubelet")


async def _remove(engine: SimulatedEngine) -> None:
    await engine.remove("first")


async def _halt(engine: SimulatedEngine) -> None:
    engine.halt("first")


@pytest.mark.parametrize("change", [_create, _balance, _run, _remove, _halt])
async def test_a_state_has_all_that_a_container_engine_has(
    change: Callable[[SimulatedEngine], Any],
) -> None:
    engine = await _engine()
    before = list(engine.lines())
    await change(engine)
    assert list(engine.lines()) != before


def test_a_state_has_the_control_planes_that_a_service_runs() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    cloud: Any = SimpleNamespace(clock=lambda: now)
    services = Services(cloud)
    states = {tuple(services.lines())}
    for version in ("v1.34.2", "v1.35.0"):
        context: Any = SimpleNamespace(uid="1", version=version, key=Key("default", "meadow"))
        plane = services._ask(context, now)
        states.add(tuple(services.lines()))
        services.running[context.key] = plane._replace(until=now)
        states.add(tuple(services.lines()))
        services.running[context.key] = plane._replace(until=now, serves=version)
        states.add(tuple(services.lines()))
    assert len(states) == 7


def _few(point: Point, _: str) -> bool:
    return point.number % 40 == 7


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hooks-delete", "docker-delete", "service-delete", "leaders"])
def test_runs_with_extensions_clouds_and_candidates_end_in_a_known_state(name: str) -> None:
    verdicts = exhaustive(SCENARIOS[name], 0, ["lost-reply"], selects=_few, merges=True)
    assert [verdict.violations for verdict in verdicts] == [[]] * len(verdicts)
    assert any(verdict.is_merged for verdict in verdicts)
