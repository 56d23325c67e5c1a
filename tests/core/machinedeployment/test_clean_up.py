"""Tests of the deletion of old MachineSets after a complete rollout."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kapy.api.machine_set import MachineSet
from kapy.client.client import Client
from kapy.core.machinedeployment.machinesets import clean_up
from kapy.core.machinedeployment.scope import MachineDeploymentScope
from kapy.kube import Document
from kapy.kube.http import Reply, Request
from kapy.kube.meta import read
from tests.core.machinedeployment.test_status import NOW, SPEC, deployment


@dataclass
class Deletions:
    """A server that accepts only DELETE requests. names: the names of the deleted objects."""

    names: list[str] = field(default_factory=list)

    async def __call__(self, request: Request) -> Reply:
        assert request.method == "DELETE"
        self.names.append(request.path.rpartition("/")[2])
        return Reply(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})


def old_set(name: str, replicas: int = 0, *, generation: int = 2, **parts: Any) -> Document:
    metadata = {"name": name, "namespace": "ns", "uid": name, "generation": generation}
    status = {"replicas": 0, "observedGeneration": 2, **parts.pop("status", {})}
    return {
        "metadata": {**metadata, **parts},
        "spec": {**SPEC, "replicas": replicas},
        "status": status,
    }


@pytest.mark.parametrize(
    ("document", "goes"),
    [
        (old_set("empty"), True),
        (old_set("unread", generation=3), False),  # its status may speak of a size it had before
        (old_set("asked", 1), False),
        (old_set("there", status={"replicas": 1}), False),
        (old_set("going", deletionTimestamp="2026-01-01T00:00:00Z"), False),
    ],
    ids=lambda value: value["metadata"]["name"] if isinstance(value, dict) else "",
)
async def test_a_set_is_deleted_when_it_is_known_to_have_no_machines(
    document: Document, *, goes: bool
) -> None:
    deletions = Deletions()
    events = SimpleNamespace(normal=lambda *_: None)
    scope = SimpleNamespace(
        deployment=deployment(1),
        documents={document["metadata"]["name"]: document},
        dependencies=SimpleNamespace(client=Client(deletions, field_manager="test"), events=events),
        now=NOW,
    )
    await clean_up(cast(MachineDeploymentScope, scope), [read(document, MachineSet)])
    assert bool(deletions.names) is goes
