"""Events and metrics of the recorded stories are those of upstream's managers.

Some stories are played at once on one plane. Its metrics and events are compared with topic
`metrics`. Known differences are listed with their reasons, or with the issue that removes them.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable
from typing import Any, Final

import pytest

from kapy.apps.all_in_one import ManagementPlane
from kapy.kube import Document
from kapy.kube.names import CONFIG_MAPS, EVENTS, NAMESPACES, SECRETS
from kapy.testing.story import Story
from tests.oracle.recorded import RECORDED
from tests.stories.plane import own_kinds, running
from tests.stories.recorded import Player, Recorded

METRICS: Final = RECORDED / "metrics"
STORIES: Final = ("d-md-rollout", "e-kcp-scale", "h-mhc", "k-variable-change")

Signal = tuple[str, str, str, str]
"""Of an event: component, type, reason, kind of the object."""

OTHER_EVENTS: Final[dict[Signal, str]] = {
    (
        "kubeadmcontrolplane-controller",
        "Normal",
        "SuccessfulStartInPlaceUpdate",
        "Machine",
    ): "issue 10: updates in place are asked of an extension",
    (
        "machinedeployment-controller",
        "Warning",
        "FailedUpdate",
        "MachineDeployment",
    ): "upstream's own conflicts; here a MachineSet is applied without a resourceVersion",
}
"""Recorded, and not made by the stories that are played here."""

OTHER_FAMILIES: Final = {
    r"go_.*|process_.*": "of the language",
    r"informer_.*": "client-go's own",
    r"certwatcher_.*|controller_runtime_(conversion_)?webhook_.*": "of managers: tests/apps",
    r"inmemory_.*": "the backend's servers are counted as the API server is",
    r"capi_cluster_cache_healthchecks?(_total)?": "probed over the network only: tests/remote",
}
"""Families that a manager of upstream has and this plane has not, and why."""

OTHER_CONTROLLERS: Final = {
    "extensionconfig": "issue 10",
    "devmachinetemplate": "upstream's fills in status.capacity, which the autoscaler reads",
    "dockermachinetemplate": "the same",
}


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    return {path.stem: json.loads(path.read_text()) for path in METRICS.glob("*.json")}


async def play(plane: ManagementPlane, name: str) -> None:
    """Do what was done in a recorded story."""
    kinds = own_kinds()
    story = Story(plane.client, [*kinds, NAMESPACES, SECRETS, CONFIG_MAPS])
    await story.create([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}])
    result = Recorded.read(name)
    clock, connections = plane.runtime.clock, plane.cluster_cache
    await Player(story, kinds, name, clock, connections, result.stages).play(result.steps)


@pytest.mark.recorded
async def test_a_fleet_reports_the_same_signals_as_upstream(recorded: dict[str, Any]) -> None:
    async with running() as plane:
        async with asyncio.TaskGroup() as group:
            meanwhile = group.create_task(_later(plane))
            for name in STORIES:
                group.create_task(play(plane, name))
        events = (await plane.client.list(EVENTS)).items
        text = meanwhile.result() + plane.runtime.metrics.text().decode()
    assert _differing_events(recorded["events"], events) == []
    assert _differing_families(recorded["metrics"], text) == []


async def _later(plane: ManagementPlane) -> str:
    """Return the metrics after a minute, while there are clusters."""
    await asyncio.sleep(60)
    return plane.runtime.metrics.text().decode()


def _differing_events(recorded: Iterable[Document], events: Iterable[Document]) -> list[str]:
    wanted = {
        (document["component"], document["type"], document["reason"], document["kind"])
        for document in recorded
    }
    event_names = {
        (
            event["source"]["component"],
            event["type"],
            event["reason"],
            event["involvedObject"]["kind"],
        )
        for event in events
        if event["source"]["component"].endswith("-controller")
    }
    missing = [f"{entry} is missing" for entry in sorted(wanted - event_names - set(OTHER_EVENTS))]
    unknown = [f"{entry} was not recorded" for entry in sorted(event_names - wanted)]
    there = [f"{entry} is no longer missing" for entry in sorted(event_names & set(OTHER_EVENTS))]
    return missing + unknown + there


def _differing_families(recorded: Document, text: str) -> list[str]:
    ours, lines = _families(text), []
    for families in recorded.values():
        for name, family in families.items():
            if name == "(other families)" or _is_other(name):
                continue
            if name not in ours:
                lines.append(f"{name} is missing")
                continue
            kind, labels, buckets = ours[name]
            if kind != family["type"]:
                lines.append(f"{name} is a {kind}, recorded was a {family['type']}")
            lines += _differing_labels(name, family, labels)
            bounds = [float(bound) for bound in family.get("buckets", ())]
            if [float(bound) for bound in buckets] != pytest.approx(bounds):
                lines.append(f"{name} has other buckets")
    return sorted(set(lines))


def _is_other(name: str) -> bool:
    return any(re.fullmatch(pattern, name) for pattern in OTHER_FAMILIES)


def _differing_labels(name: str, document: Document, labels: dict[str, set[str]]) -> list[str]:
    if set(labels) != set(document["labels"]):
        return [
            f"{name} has the labels {sorted(labels)}, recorded were {sorted(document['labels'])}"
        ]
    lines = []
    for label in ("controller", "result", "name"):
        values = document["labels"].get(label)
        if isinstance(values, list):
            missing = set(values) - labels[label] - set(OTHER_CONTROLLERS)
            lines += [f"{name}: {label}={value} is missing" for value in sorted(missing)]
    return lines


def _families(text: str) -> dict[str, tuple[str, dict[str, set[str]], list[str]]]:
    """Type, values by label, and buckets, by the name of the family."""
    families: dict[str, tuple[str, dict[str, set[str]], list[str]]] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("# TYPE"):
            _, _, name, kind = line.split()
            families.setdefault(name, (kind, {}, []))
        elif line and not line.startswith("#"):
            _, labels, buckets = families[name]
            for label, value in re.findall(r'(\w+)="([^"]*)"', line):
                if label != "le":
                    labels.setdefault(label, set()).add(value)
                elif value not in buckets:
                    buckets.append(value)
    return families
