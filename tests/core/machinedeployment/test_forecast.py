"""Tests of the forecast of a rollout: it ends in a state where nothing is left to do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.template_changes import AFTER_EXPIRED
from kapy.api.times import stamp
from kapy.core.machinedeployment.desired import new_set
from kapy.core.machinedeployment.forecast import MAX_STEPS, Forecast, forecast
from kapy.kube import Document
from kapy.kube.meta import read
from kapy.kube.model import copy_model

NOW: Final = datetime(2026, 6, 1, 12, 30, 15, tzinfo=UTC)
CREATED: Final = NOW - timedelta(days=30)
REFERENCE: Final = {"apiGroup": "x.example.com", "kind": "Thing", "name": "a"}
TEMPLATE: Final[Document] = {
    "clusterName": "c",
    "version": "v1.34.0",
    "bootstrap": {"configRef": REFERENCE},
    "infrastructureRef": REFERENCE,
}

ROLLING_FIELDS: Final[dict[str, Document]] = {
    "version": {"version": "v1.35.0"},
    "failure domain": {"failureDomain": "b"},
    "infrastructure": {"infrastructureRef": {**REFERENCE, "name": "b"}},
    "bootstrap": {"bootstrap": {"configRef": {**REFERENCE, "name": "b"}}},
}


def deployment(replicas: int, *, after: timedelta | None = None, **parts: Any) -> MachineDeployment:
    """A MachineDeployment; after: `spec.rollout.after`, from now."""
    update = {"maxSurge": parts.pop("surge", 1), "maxUnavailable": parts.pop("unavailable", 0)}
    strategy = {"type": parts.pop("strategy", "RollingUpdate"), "rollingUpdate": update}
    rollout: Document = {"strategy": strategy}
    if after is not None:
        rollout["after"] = stamp(NOW + after)
    spec = {
        "clusterName": "c",
        "replicas": replicas,
        "rollout": rollout,
        "selector": {},
        "template": {"spec": {**TEMPLATE, **parts.pop("template", {})}},
        **parts,
    }
    metadata = {"name": "md", "namespace": "ns", "uid": "u", "creationTimestamp": stamp(CREATED)}
    return read({"metadata": metadata, "spec": spec}, MachineDeployment)


def running(replicas: int, number: int = 0, **parts: Any) -> MachineSet:
    """A set with all of its Machines, made some time after the MachineDeployment."""
    machine_set = new_set(deployment(replicas, **parts), number)
    machine_set.metadata.uid = f"u{number}"
    machine_set.metadata.creation_timestamp = stamp(CREATED + timedelta(hours=number))
    machine_set.spec.replicas = replicas
    machine_set.status.replicas = machine_set.status.available_replicas = replicas
    return machine_set


def told(of: MachineDeployment, *sets: MachineSet, now: datetime = NOW) -> Forecast:
    return forecast(of, sets, [], now)


def ended(of: MachineDeployment, value: Forecast, now: datetime = NOW) -> None:
    """Nothing is left to do after what was foretold."""
    sets = [copy_model(machine_set) for machine_set in value.sets]
    again = forecast(of, sets, [], now + timedelta(seconds=1))
    assert (again.steps, again.creates) == ([], "")


@pytest.mark.parametrize("change", ROLLING_FIELDS.values(), ids=ROLLING_FIELDS)
@pytest.mark.parametrize(
    "after", [None, timedelta(days=-31), timedelta(days=-1), timedelta(days=1)]
)
def test_changed_fields_cause_a_rollout(change: Document, after: timedelta | None) -> None:
    of = deployment(3, after=after, template=change)
    result = told(of, running(3))
    assert result.creates
    assert len(result.steps) <= 6
    assert {
        machine_set.metadata.name: machine_set.spec.replicas
        for machine_set in result.sets
        if machine_set.spec.replicas
    } == {result.creates: 3}
    ended(of, result)


def test_workers_are_restarted_with_rollout_after() -> None:
    of, old = deployment(3, after=timedelta(hours=-1)), running(3)
    result = told(of, old)
    assert result.creates
    assert len(result.steps) == 6
    assert result.outdated == {old.metadata.name: (AFTER_EXPIRED,)}
    ended(of, result)


@pytest.mark.parametrize(
    "after", [timedelta(days=-31), timedelta(days=-30), timedelta(seconds=1), timedelta(days=1)]
)
def test_rollout_after_keeps_newer_machines_and_waits_for_its_time(
    after: timedelta,
) -> None:
    assert told(deployment(3, after=after), running(3)).steps == []


def test_a_long_rollout_is_reported_in_a_bounded_number_of_steps() -> None:
    of = deployment(100_000, template={"version": "v1.35.0"})
    result = told(of, running(100_000))
    assert len(result.steps) == MAX_STEPS + 1
    assert sorted(machine_set.spec.replicas or 0 for machine_set in result.sets) == [0, 100_000]
    ended(of, result)


AFTER = st.none() | st.integers(-60 * 24, 60 * 24).map(lambda hours: timedelta(hours=hours))


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 12),
    st.lists(st.integers(0, 8), max_size=4),
    AFTER,
    st.sampled_from([{}, *ROLLING_FIELDS.values()]),
    st.sampled_from(["RollingUpdate", "OnDelete"]),
    st.tuples(st.sampled_from([0, 1, 3, "50%"]), st.sampled_from([0, 1, "30%"])),
    st.booleans(),
)
def test_every_forecast_ends_where_nothing_is_left_to_do(
    replicas: int,
    sizes: list[int],
    after: timedelta | None,
    change: Document,
    strategy: str,
    fenceposts: tuple[Any, Any],
    paused: bool,
) -> None:
    surge, unavailable = fenceposts
    of = deployment(
        replicas,
        after=after,
        template=change,
        strategy=strategy,
        surge=surge,
        unavailable=unavailable,
        paused=paused,
    )
    versions = ["v1.34.0", "v1.33.0", "v1.32.0", "v1.34.0"]
    sets = [
        running(size, number, template={"version": version})
        for number, (size, version) in enumerate(zip(sizes, versions, strict=False))
    ]
    result = told(of, *sets)
    assert len(result.steps) <= 2 * (sum(sizes) + replicas) + len(sets) + 1
    if strategy == "RollingUpdate" and not paused:
        assert sum(machine_set.spec.replicas or 0 for machine_set in result.sets) == replicas
    if not paused:
        ended(of, result)
