"""Days and years of virtual time: nothing grows, and certificates are renewed in time."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Final, NamedTuple

import pytest

from kapy.apiserver.controllers.event_expiry import EventExpiry
from kapy.apiserver.server import server
from kapy.apiserver.store import store
from kapy.apiserver.store.store import MEMORY_HISTORY
from kapy.providers.kubeadm.controlplane import reconcile
from kapy.testing.simulation import Outcome, Scenario, run
from kapy.testing.simulation.rules.certificates import SERVER_MINIMUM, client_certificate
from kapy.testing.simulation.scenarios.clock_jumps import EXPIRY_DAYS, lasting_cluster
from kapy.testing.simulation.scenarios.scenario import available_with
from kapy.testing.simulation.user import User

HOUR: Final = 3600.0
DAY: Final = 24 * HOUR
SOAK: Final = bool(os.environ.get("KAPY_SOAK"))
DAYS: Final = int(os.environ.get("KAPY_SOAK_DAYS") or (400 if SOAK else 16))
"""Days with a change each; `make soak` takes 400, in which every certificate is renewed."""
YEARS: Final = 9.5 if SOAK else 3.5
"""Years of rest. `make soak` takes nearly ten, after which the authority of a cluster expires."""
VISITS: Final = 4
"""Changes in a year of the long run."""
BLOCKS: Final = 200
"""Blocks of memory by which a world may grow with a change: bounded caches fill up, and the rules
remember replicas. In the long run the control plane's machine is replaced, too."""
WRITES: Final = 100
"""The most remembered writes: the workload cluster's server keeps as many as fit."""


class Checkpoint(NamedTuple):
    """The size of a world at rest. objects: stored objects without Events, with those of the
    workload cluster. revision: of the management cluster. history: remembered
    writes. blocks: of memory."""

    objects: int
    events: int
    revision: int
    history: int
    blocks: int
    expiry: str
    machine: str


def measure(user: User) -> Checkpoint:
    stores = [
        user.world.server.store,
        *(workload.server.store for workload in user.world.cloud.workloads()),
    ]
    counts = [
        (table.name, len(list(table.scan("")))) for store in stores for table in store.tables()
    ]
    events = sum(count for name, count in counts if name.startswith("events"))
    user.world.trace.steps.clear()
    gc.collect()
    secret = user.view.get("Secret", "meadow-kubeconfig")
    assert secret is not None
    [machine] = user.view.machines(control_plane=True)
    return Checkpoint(
        sum(count for _, count in counts) - events,
        events,
        user.world.server.store.revision,
        sum(
            len(store.history.since(table.name, store.history.floor))
            for store in stores
            for table in store.tables()
        ),
        sys.getallocatedblocks(),
        client_certificate(secret).not_valid_after_utc.isoformat(),
        machine["metadata"]["name"],
    )


def bound_histories(user: User) -> None:
    """Let the servers forget as they do outside of simulations."""
    user.world.server.store.history.limit = MEMORY_HISTORY
    for workload in user.world.cloud.workloads():
        workload.server.store.history.limit = MEMORY_HISTORY


async def live(user: User, changes: int, interval: float, rest: list[list[Checkpoint]]) -> None:
    """Change the number of workers again and again. rest: two hours after each change, and before
    the next one."""
    bound_histories(user)
    user.world.spawn(EventExpiry(user.world.server.context).run)
    for number in range(changes):
        replicas = 1 + number % 2
        await user.patch("MachineDeployment", "meadow-md", {"spec": {"replicas": replicas}})
        await user.until(f"change {number}", available_with(1, replicas))
        await user.sleep(2 * HOUR)
        early = measure(user)
        await user.sleep(interval - 2 * HOUR)
        rest.append([early, measure(user)])


def play(changes: int, interval: float) -> tuple[Outcome, list[list[Checkpoint]]]:
    rest: list[list[Checkpoint]] = []

    async def prepare(user: User) -> None:
        await user.apply(lasting_cluster(control_planes=1, workers=2))
        await user.until("the cluster is available", available_with(1, 2))

    scenario = Scenario(
        "long-life",
        "A long time with changes.",
        lambda user: live(user, changes, interval, rest),
        prepare,
        2 * changes * interval,
    )
    return run(scenario, 0), rest


def growth(rest: list[list[Checkpoint]], size: Callable[[Checkpoint], int]) -> float:
    """How much the largest size of the last quarter is above that of the second one, a change."""
    quarter = len(rest) // 4
    early = max(size(late) for _, late in rest[quarter : 2 * quarter])
    return (max(size(late) for _, late in rest[-quarter:]) - early) / (len(rest) - 2 * quarter)


def expect_bounds(rest: list[list[Checkpoint]], blocks: int) -> None:
    assert growth(rest, lambda checkpoint: checkpoint.objects) <= 0
    assert growth(rest, lambda checkpoint: checkpoint.blocks) < blocks
    assert max(checkpoint.history for pair in rest for checkpoint in pair) <= WRITES
    assert [checkpoint.events for pair in rest for checkpoint in pair if checkpoint.events] == []


@pytest.mark.slow
def test_nothing_grows_with_daily_changes() -> None:
    outcome, rest = play(DAYS, DAY)
    assert outcome.violations == []
    assert outcome.seconds > DAYS * DAY
    expect_bounds(rest, BLOCKS)
    # Between changes nothing is written, unless a certificate is renewed.
    busy = [pair for pair in rest if pair[0].revision != pair[1].revision]
    renewals = len({checkpoint.expiry for pair in rest for checkpoint in pair}) - 1
    rollouts = len({checkpoint.machine for pair in rest for checkpoint in pair}) - 1
    assert len(busy) <= renewals + rollouts
    assert renewals >= DAYS // 183


@pytest.mark.slow
def test_certificates_are_renewed_for_years(monkeypatch: pytest.MonkeyPatch) -> None:
    """The timers of a plane at rest, of minutes, are of an hour or a day: they are all the work."""
    monkeypatch.setattr(reconcile, "ETCD_PERIOD", timedelta(days=1))
    monkeypatch.setattr(reconcile, "FULL_PERIOD", timedelta(days=1))
    monkeypatch.setattr(server, "BOOKMARK_SECONDS", 6 * HOUR)
    monkeypatch.setattr(store, "COMPACTION_SECONDS", 6 * HOUR)
    outcome, rest = play(int(YEARS * VISITS), 365 * DAY / VISITS)
    assert outcome.violations == []
    assert outcome.seconds > YEARS * 365 * DAY - DAY
    expect_bounds(rest, 2 * BLOCKS)
    assert timedelta(days=EXPIRY_DAYS) > SERVER_MINIMUM
    machines = len({checkpoint.machine for pair in rest for checkpoint in pair})
    assert int(YEARS) <= machines - 1 <= YEARS * 365 / (365 - EXPIRY_DAYS)
    # Half of a year is left of each client certificate when it is renewed.
    assert (
        2 * YEARS - 2
        <= len({checkpoint.expiry for pair in rest for checkpoint in pair}) - 1
        <= 2 * YEARS
    )
