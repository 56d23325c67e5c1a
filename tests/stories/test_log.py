"""The log of a plane: an operator follows one Machine's life in it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from typing import Any, TypeAlias

from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.cli.log_lines import TEXT, Json, Text
from tests.stories.plane import running_plane, sample

Record: TypeAlias = dict[str, Any]

WORKERS, CLUSTER = "capybara-md-0", {"namespace": "default", "name": "capybara"}


@contextmanager
def logged() -> Iterator[tuple[StringIO, StringIO]]:
    """Collect all that kapy logs: as JSON, and as text."""
    root, kapy, forms = logging.getLogger(), logging.getLogger("kapy"), (Json(), Text(TEXT))
    handlers, before = [logging.StreamHandler(StringIO()) for _ in forms], kapy.level
    for handler, form in zip(handlers, forms, strict=True):
        handler.setFormatter(form)
        root.addHandler(handler)
    kapy.setLevel(logging.DEBUG)
    try:
        yield handlers[0].stream, handlers[1].stream
    finally:
        kapy.setLevel(before)
        for handler in handlers:
            root.removeHandler(handler)


async def play() -> str:
    """Create the sample cluster and scale it down; return the name of the deleted Machine."""
    async with running_plane() as story:
        await story.create(sample())
        await story.until(
            MachineDeployment, WORKERS, lambda workers: workers.status.available_replicas == 2
        )
        scaled = {"spec": {"replicas": 1}}
        before = {machine.metadata.name for machine in await story.all(Machine)}
        await story.merge(MachineDeployment, WORKERS, scaled)
        await story.until(MachineDeployment, WORKERS, lambda workers: workers.status.replicas == 1)
        (deleted,) = before - {machine.metadata.name for machine in await story.all(Machine)}
        return deleted


async def test_the_log_tells_the_life_of_a_machine() -> None:
    with logged() as (lines, texts):
        name = await play()
    records = [json.loads(line) for line in lines.getvalue().splitlines()]
    expect_life(name, [record for record in records if record["level"] == "info"])
    expect_one_id_for_each_reconcile(records)
    text = f"created Machine default/{name}"
    created = next(line for line in texts.getvalue().splitlines() if text in line)
    assert 'controller="machineset" namespace="default"' in created
    assert 'Cluster="default/capybara" reconcileID="' in created


def expect_life(name: str, records: Sequence[Record]) -> None:
    about = [record for record in records if f"Machine default/{name}" in record["msg"]]
    text = " | ".join(record["msg"] for record in about)
    life = (
        f"created DevMachine default/{name}",
        f"created Machine default/{name}",
        "phase=Provisioning",
        "InfrastructureReady=False (NotReady",
        "phase=Running (was Provisioning)",
        f"deleted Machine default/{name}",
        f"deleted DevMachine default/{name}",
        "phase=Deleting (was Running)",
    )
    positions = [text.find(step) for step in life]
    assert positions == sorted(positions), text
    assert positions[0] == 0, text
    for record in about:
        assert (record["namespace"], record["Cluster"]) == ("default", CLUSTER)
        assert record["name"]
    assert {record["controller"] for record in about} >= {"machine", "machineset", "devmachine"}
    creation = about[0]
    assert creation["controllerKind"] == "MachineSet"
    assert creation["controllerGroup"] == "cluster.x-k8s.io"
    assert creation["MachineSet"] == {"namespace": "default", "name": creation["name"]}
    assert creation["MachineDeployment"] == {"namespace": "default", "name": WORKERS}


def expect_one_id_for_each_reconcile(records: Sequence[Record]) -> None:
    subjects: dict[str, set[tuple[str, str]]] = {}
    for record in records:
        if "reconcileID" in record:
            subject = (record["controller"], record["name"])
            subjects.setdefault(record["reconcileID"], set()).add(subject)
    assert len(subjects) > 30
    assert all(len(item) == 1 for item in subjects.values())
