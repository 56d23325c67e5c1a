"""The life of a cluster as spans: what took how long. Pure.

The spans are derived from what the objects hold, so that they survive the process that shows them:
creation times, transitions of conditions, the steps of a deletion, MachineSets and the versions of
Machines (rollouts, upgrades), records of remediations, and Events (kept for an hour). Only calls of
hooks come from the memory of the plane.

A condition keeps its last transition only. So it counts as a step of the creation if it cannot
become false again, or if it became true soon after the creation; else the span shows since when it
is true.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from kapy.api.names import Annotation
from kapy.kube import Document
from kapy.kube.duration import age
from kapy.kube.foreign_json import BadJson, decode_json
from kapy.kube.nested import value_at
from kapy.ui.documents import (
    annotations_of,
    is_true,
    moment_of,
    name_of,
    part,
    reason_of,
    since_of,
    text_at,
)
from kapy.ui.hook_calls import HookCall
from kapy.ui.machines import version_of
from kapy.ui.objects import ClusterObjects, time_of_event

Mood = Literal["good", "bad", "busy", "plain"]

_VERSION_CHANGE: Final = re.compile(r"version change from (\S{1,40}) to (\S{1,40})")
_FIRST: Final = datetime.min.replace(tzinfo=UTC)
WIDTH: Final = 1000
"""Units of a bar's drawing."""
MOST_SPANS: Final = 150
EVENT: Final = "event: "
"""The beginning of the titles of Events."""
WINDOWS: Final = {
    "all": None,
    "1d": timedelta(days=1),
    "1h": timedelta(hours=1),
    "10m": timedelta(minutes=10),
}

PHASES: Final = (
    ("ControlPlaneInitialized", "control plane initialized"),
    ("ControlPlaneAvailable", "control plane available"),
    ("WorkersAvailable", "workers available"),
    ("Available", "cluster available"),
)
FINAL: Final = ("ControlPlaneInitialized",)
"""Conditions that stay true."""
CREATION: Final = timedelta(hours=1)
"""A Machine's condition that became true within this time is a step of its creation."""
MACHINE_PHASES: Final = (
    ("BootstrapConfigReady", "boot data"),
    ("InfrastructureReady", "infrastructure"),
    ("NodeReady", "Node ready"),
    ("Ready", "Machine ready"),
)
DELETION_STEPS: Final = (
    ("waitForPreDrainHookStartTime", "deletion: waits for pre-drain hooks"),
    ("nodeDrainStartTime", "deletion: drains the Node"),
    ("waitForNodeVolumeDetachStartTime", "deletion: waits for volumes"),
    ("waitForPreTerminateHookStartTime", "deletion: waits for pre-terminate hooks"),
)
"""Fields of `status.deletion` of a Machine, in the order of the steps."""


@dataclass(frozen=True, slots=True)
class Span:
    """A period in the life of a cluster, shown as one bar. end: the end of the period, None while
    it lasts. x, width: position and width of the bar in a drawing.
    """

    subject: str
    title: str
    start: datetime
    end: datetime | None
    mood: Mood = "good"
    detail: str = ""
    x: int = 0
    width: int = 0

    def took(self, now: datetime) -> str:
        """Return the duration of the period as text."""
        text = age((self.end or now) - self.start)
        return text if self.end is not None else f"{text}, lasts"


@dataclass(frozen=True, slots=True)
class Timeline:
    """The spans of a window of time by object, in the order in which they began. omitted: less
    important ones, for which there is no room."""

    start: datetime
    end: datetime
    spans: Sequence[Span]
    omitted: int = 0


def timeline_of(
    objects: ClusterObjects, calls: Sequence[HookCall], now: datetime, window: str
) -> Timeline:
    """Return the spans that touch a window (a key of WINDOWS) up to now."""
    spans = [
        *_phases(objects.cluster, "Cluster", PHASES, timedelta(0)),
        *_lasting(objects.cluster, "Cluster", "topology", "TopologyReconciled", "busy"),
        *_upgrades(objects),
        *_deletion(objects.cluster, "Cluster"),
        *_rollouts(objects),
        *(span for machine in objects.machines for span in _machine(machine)),
        *_hooks(calls),
        *_events(objects.events),
    ]
    length = WINDOWS.get(window)
    first = min((span.start for span in spans), default=now)
    start = first if length is None or now - _FIRST < length else max(first, now - length)
    touching = [span for span in spans if (span.end or now) >= start]
    end = max((span.end or now for span in touching), default=now)
    if length is not None:
        end = max(end, now)
    shown = sorted(touching, key=_importance, reverse=True)[:MOST_SPANS]
    first_of: dict[str, datetime] = {}
    for span in sorted(shown, key=lambda item: item.start):
        first_of.setdefault(span.subject, span.start)
    shown.sort(
        key=lambda row: (first_of[row.subject], row.subject != "Cluster", row.subject, row.start)
    )
    placed = [_place(span, start, end, now) for span in shown]
    return Timeline(start, end, placed, len(touching) - len(shown))


def _importance(span: Span) -> tuple[bool, bool, bool, bool, datetime]:
    """Return a sort key for the case that there is no room for all spans. Kept first: the cluster's
    own spans, unfinished problems, spans of several Machines, recent spans; Events last."""
    is_event, is_own = span.title.startswith(EVENT), span.subject == "Cluster"
    is_open = span.end is None and span.mood in ("bad", "busy")
    return not is_event, is_own, is_open, not span.subject.startswith("Machine "), span.start


def _place(span: Span, start: datetime, end: datetime, now: datetime) -> Span:
    seconds = max((end - start).total_seconds(), 0.001)

    def at(moment: datetime) -> int:
        part = (moment - start).total_seconds() / seconds
        return round(WIDTH * min(max(part, 0.0), 1.0))

    x = min(at(span.start), WIDTH - 4)
    return replace(span, x=x, width=max(at(span.end or now) - x, 4))


def _phases(
    document: Document, subject: str, phases: Sequence[tuple[str, str]], creation: timedelta
) -> Iterator[Span]:
    """Yield a span from the creation to each phase that was reached, and one for each missing
    phase.

    creation: the time after the creation within which a condition counts as a phase.
    """
    created = previous = created_of(document)
    if previous is None or created is None:
        return
    for type_, title in phases:
        since = since_of(document, type_)
        if since is None:
            continue
        if not is_true(document, type_):
            yield Span(subject, f"{title}: no", since, None, "bad", _detail(document, type_))
        elif type_ in FINAL or since - created < creation:
            yield Span(subject, title, previous, max(since, previous))
            previous = max(since, previous)
        else:
            yield Span(subject, title, since, None, "good", _detail(document, type_))


def _lasting(
    document: Document, subject: str, title: str, type_: str, mood: Mood, *, status: str = "False"
) -> Iterator[Span]:
    """Yield a span that begins with a condition's last transition, if it has this status."""
    since = since_of(document, type_)
    if since is not None and is_true(document, type_, status):
        yield Span(subject, title, since, None, mood, _detail(document, type_))


def _detail(document: Document, type_: str) -> str:
    return reason_of(document, type_).partition("\n")[0]


def _upgrades(objects: ClusterObjects) -> Iterator[Span]:
    """From the change of a version to the time at which the topology is reconciled.

    The change is known from its Event, and later from the oldest Machine or MachineSet of the
    version, if it is younger than the cluster's first control plane.
    """
    cluster = objects.cluster
    starts: dict[str, datetime] = {}
    for event in objects.events:
        match = _VERSION_CHANGE.search(str(event.get("message") or "")[:1000])
        start = moment_of(event.get("firstTimestamp"))
        if match is not None and event.get("reason") == "TopologyUpdate" and start is not None:
            title = f"upgrade {match[1]} → {match[2]}"
            starts[title] = min(start, starts.get(title, start))
    initialized = since_of(cluster, "ControlPlaneInitialized")
    version = text_at(cluster, "spec", "topology", "version")
    created = [
        *(created_of(machine) for machine in objects.machines if version_of(machine) == version),
        *(created_of(item) for item in objects.machine_sets if _template_version(item) == version),
    ]
    first = min((time for time in created if time is not None), default=None)
    if not starts and version and initialized and first and first > initialized:
        starts[f"upgrade or rollout to {version}"] = first
    since = since_of(cluster, "TopologyReconciled")
    for title, start in starts.items():
        is_done = is_true(cluster, "TopologyReconciled") and since is not None and since >= start
        mood: Mood = "good" if is_done else "busy"
        yield Span("Cluster", title, start, since if is_done else None, mood)


def _deletion(document: Document, subject: str) -> Iterator[Span]:
    """A deletion, and its steps: each lasts until the next one begins."""
    started = moment_of(text_at(document, "metadata", "deletionTimestamp"))
    if started is None:
        return
    yield Span(subject, "deletion", started, None, "busy", _detail(document, "Deleting"))
    times = part(document, "status", "deletion")
    starts = ((moment_of(times.get(name)), title) for name, title in DELETION_STEPS)
    steps = [(start, title) for start, title in starts if start is not None]
    ends = [*(start for start, _ in steps[1:]), None]
    for (start, title), end in zip(steps, ends, strict=False):
        yield Span(subject, title, start, end, "busy" if end is None else "good")


def _machine(machine: Document) -> Iterator[Span]:
    subject = f"Machine {name_of(machine)}"
    yield from _phases(machine, subject, MACHINE_PHASES, CREATION)
    since, phase = (
        moment_of(text_at(machine, "status", "lastUpdated")),
        text_at(machine, "status", "phase"),
    )
    if since is not None and phase not in ("", "Running", "Deleting"):
        mood: Mood = "bad" if phase == "Failed" else "busy"
        yield Span(subject, f"phase {phase}", since, None, mood)
    yield from _deletion(machine, subject)
    yield from _lasting(machine, subject, "unhealthy", "HealthCheckSucceeded", "bad")
    yield from _lasting(machine, subject, "remediation", "OwnerRemediated", "busy")
    yield from _remediation(machine, subject)


def _remediation(machine: Document, subject: str) -> Iterator[Span]:
    """The remediation of another Machine, which this one replaces: it says so in an annotation."""
    text = str(annotations_of(machine).get(Annotation.REMEDIATION_FOR) or "")
    try:
        record = decode_json(text.encode()) if text else None
    except BadJson:
        return
    start = moment_of(value_at(record, ("timestamp",)))
    if start is None:
        return
    end = since_of(machine, "Ready") if is_true(machine, "Ready") else None
    title = f"remediation of {value_at(record, ('machine',))}"
    yield Span(subject, title, start, end and max(end, start), "good" if end else "busy")


def _rollouts(objects: ClusterObjects) -> Iterator[Span]:
    """One span for each MachineSet of a MachineDeployment, and each version of a control plane."""
    machine_sets, machines_of = _by_owner(objects.machine_sets), _by_owner(objects.machines)
    for deployment in objects.deployments:
        own = machine_sets[deployment["metadata"]["uid"]]
        parts = [
            (_template_version(item), [item], machines_of[item["metadata"]["uid"]])
            for item in sorted(own, key=_creation)
        ]
        yield from _series(f"MachineDeployment {name_of(deployment)}", parts)
    control_plane = objects.control_plane
    if control_plane is None:
        return
    by_version: dict[str, list[Document]] = defaultdict(list)
    for machine in sorted(machines_of[control_plane["metadata"]["uid"]], key=_creation):
        by_version[version_of(machine)].append(machine)
    subject = f"{control_plane['kind']} {name_of(control_plane)}"
    yield from _series(subject, [(name, own, own) for name, own in by_version.items()])


def _series(
    subject: str, parts: Sequence[tuple[str, Sequence[Document], Sequence[Document]]]
) -> Iterator[Span]:
    """Yield the rollouts of one owner. parts: version, the objects that began it, and its
    Machines."""
    before = ""
    for version, beginning, machines in parts:
        start = created_of(beginning[0])
        if start is not None and machines:
            title = f"machines {version}".rstrip()
            if before:
                change = f"{before} → {version}" if before != version else f"at {version}"
                title = f"rollout {change}"
            done = sum(is_true(machine, "Ready") for machine in machines)
            is_done, end = done == len(machines), None
            if is_done:
                times = (since_of(document, "Ready") for document in machines)
                end = max((time for time in times if time is not None), default=start)
            detail = f"{done} of {len(machines)} machines ready"
            yield Span(subject, title, start, end, "good" if is_done else "busy", detail)
        before = version


def _hooks(calls: Sequence[HookCall]) -> Iterator[Span]:
    for call in calls:
        start = call.time - timedelta(seconds=call.seconds)
        mood: Mood = "bad" if call.result != "Success" else "busy" if call.retry else "good"
        detail = f"{call.handler}: {call.message or call.result}"
        yield Span("Hook", call.hook, start, call.time, mood, detail)


def _events(events: Sequence[Document]) -> Iterator[Span]:
    """Yield spans for Warnings and for repeated Events, from the first to the last occurrence."""
    for event in events:
        start = moment_of(event.get("firstTimestamp")) or created_of(event)
        end = moment_of(time_of_event(event))
        is_warning = event.get("type") == "Warning"
        if start is None or end is None or not (is_warning or end > start):
            continue
        kind, name = (text_at(event, "involvedObject", part) for part in ("kind", "name"))
        subject = "Cluster" if kind == "Cluster" else f"{kind} {name}"
        mood: Mood = "bad" if is_warning else "plain"
        title, detail = f"{EVENT}{text_at(event, 'reason')}", text_at(event, "message")
        yield Span(subject, title, start, max(start, end), mood, detail)


def trace_of(cluster: Document) -> str:
    """Return the ID of the trace of a cluster's creation (`kapy.engine.traces`), "" for none."""
    uid = text_at(cluster, "metadata", "uid").replace("-", "")
    return uid if len(uid) == 32 and uid.isalnum() else ""


def created_of(document: Document) -> datetime | None:
    """Return the creation time of an object, None if it has none."""
    return moment_of(value_at(document, ("metadata", "creationTimestamp")))


def _creation(document: Document) -> str:
    return text_at(document, "metadata", "creationTimestamp")


def _by_owner(documents: Sequence[Document]) -> dict[str, list[Document]]:
    """Return the documents by the UID of their controller."""
    owned: dict[str, list[Document]] = defaultdict(list)
    for document in documents:
        references = document["metadata"].get("ownerReferences") or ()
        owners = (str(item.get("uid")) for item in references if item.get("controller"))
        owned[next(owners, "")].append(document)
    return owned


def _template_version(owner: Document) -> str:
    return version_of(part(owner, "spec", "template"))
