"""Tests of the changes of a status that are written at once, and of those that are delayed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kapy.api.machine import Machine
from kapy.client.client import Client
from kapy.engine import status_writes
from kapy.engine.draft import Draft
from kapy.engine.result import DONE
from kapy.engine.status_writes import STATUS_DELAY, StatusDelay
from kapy.kube import Document, Key
from kapy.kube.http import Reply, Request

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SINCE = "2026-01-01T11:00:00Z"


async def _unreachable(request: Request) -> Reply:
    raise AssertionError(f"{request.method} {request.path} was sent")


def condition(type_: str, status: str, reason: str, message: str = "") -> Document:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": SINCE,
    }


WAITING = condition("Ready", "False", "NotReady", "waiting for this")
STATUS: Document = {
    "conditions": [WAITING, condition("MachinesReady", "False", "NotReady")],
    "deprecated": {"v1beta1": {"conditions": [condition("Ready", "False", "A")]}},
}


def draft_of(before: Document, after: Document, **metadata: Any) -> Draft[Machine]:
    """A Machine whose status is to be changed."""
    ref = {"apiGroup": "g", "kind": "K", "name": "n"}
    document = {
        "metadata": {"namespace": "default", "name": "m", "generation": 3, **metadata},
        "spec": {"clusterName": "c", "bootstrap": {}, "infrastructureRef": ref},
        "status": before,
    }
    draft = Draft(Client(_unreachable), Machine, document)
    wanted = Draft(Client(_unreachable), Machine, {**document, "status": after})
    draft.object.status = wanted.object.status
    return draft


def with_conditions(*conditions: Document, **fields: Any) -> Document:
    return {**STATUS, "conditions": list(conditions), **fields}


AGGREGATED = STATUS["conditions"][1]
OTHER_WORDS = with_conditions({**WAITING, "message": "waiting for that"}, AGGREGATED)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(STATUS, OTHER_WORDS, id="a message"),
        pytest.param(
            STATUS,
            with_conditions({**WAITING, "observedGeneration": 3}, AGGREGATED),
            id="the generation of a condition",
        ),
        pytest.param(
            STATUS,
            with_conditions(WAITING, condition("MachinesReady", "True", "Ready")),
            id="an aggregated condition",
        ),
        pytest.param(
            STATUS,
            {
                **STATUS,
                "deprecated": {"v1beta1": {"conditions": [condition("Ready", "False", "B")]}},
            },
            id="why a condition of v1beta1 is not true",
        ),
        pytest.param({}, STATUS, id="a first report that something is waited for"),
        pytest.param(
            {}, {**STATUS, "phase": "Pending", "observedGeneration": 1}, id="with its phase"
        ),
    ],
)
def test_a_minor_change_is_delayed(before: Document, after: Document) -> None:
    wait = StatusDelay().wait(draft_of(before, after), NOW)
    assert wait.after == STATUS_DELAY


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(STATUS, STATUS, id="nothing"),
        pytest.param(
            STATUS, with_conditions({**WAITING, "status": "True"}, AGGREGATED), id="a status"
        ),
        pytest.param(
            STATUS, with_conditions({**WAITING, "reason": "Broken"}, AGGREGATED), id="a reason"
        ),
        pytest.param(
            STATUS,
            with_conditions(WAITING, AGGREGATED, condition("Available", "False", "NotReady")),
            id="a new condition",
        ),
        pytest.param(STATUS, with_conditions(AGGREGATED), id="a condition less"),
        pytest.param(STATUS, {**OTHER_WORDS, "phase": "Running"}, id="a phase beside a message"),
        pytest.param(STATUS, {}, id="all conditions removed"),
        pytest.param(
            STATUS,
            {
                **STATUS,
                "deprecated": {"v1beta1": {"conditions": [condition("Ready", "True", "A")]}},
            },
            id="a condition of v1beta1 that is true",
        ),
        pytest.param({}, with_conditions(condition("Ready", "True", "Ready")), id="ready at once"),
        pytest.param(
            {},
            {**STATUS, "initialization": {"bootstrapDataSecretCreated": True}},
            id="a first report that somebody waits for",
        ),
    ],
)
def test_any_other_change_is_written_at_once(before: Document, after: Document) -> None:
    assert StatusDelay().wait(draft_of(before, after), NOW) is DONE


@pytest.mark.parametrize("counters", [set[str](), {"phase"}])
def test_counters_that_no_controller_waits_for_are_delayed(counters: set[str]) -> None:
    before, after = {**STATUS, "phase": "Pending"}, {**OTHER_WORDS, "phase": "Running"}
    wait = StatusDelay(counters).wait(draft_of(before, after), NOW)
    assert (wait is not DONE) == bool(counters)


def test_a_change_of_the_spec_is_written_with_the_message() -> None:
    draft = draft_of(STATUS, OTHER_WORDS)
    draft.object.spec.provider_id = "p"
    assert StatusDelay().wait(draft, NOW) is DONE


def test_an_object_in_deletion_is_never_delayed() -> None:
    draft = draft_of(STATUS, OTHER_WORDS, deletionTimestamp=SINCE)
    assert StatusDelay().wait(draft, NOW) is DONE


def test_the_delay_counts_from_the_first_minor_change() -> None:
    delay, draft = StatusDelay(), draft_of(STATUS, OTHER_WORDS)
    part = timedelta(milliseconds=200)
    assert delay.wait(draft, NOW).after == STATUS_DELAY
    assert delay.wait(draft, NOW + part).after == STATUS_DELAY - part
    assert delay.wait(draft, NOW + STATUS_DELAY) is DONE
    assert delay.wait(draft, NOW + STATUS_DELAY).after == STATUS_DELAY  # a new one


def test_a_clock_that_was_set_back_does_not_prolong_the_delay() -> None:
    delay, draft = StatusDelay(), draft_of(STATUS, OTHER_WORDS)
    delay.wait(draft, NOW)
    assert delay.wait(draft, NOW - timedelta(hours=1)) is DONE


def test_a_written_change_ends_the_delay() -> None:
    delay, later = StatusDelay(), NOW + STATUS_DELAY
    delay.wait(draft_of(STATUS, OTHER_WORDS), NOW)
    delay.wait(draft_of(STATUS, {**OTHER_WORDS, "phase": "Running"}), NOW)
    assert delay.wait(draft_of(STATUS, OTHER_WORDS), later).after == STATUS_DELAY


def test_a_deleted_object_is_forgotten() -> None:
    delay, later = StatusDelay(), NOW + STATUS_DELAY
    delay.wait(draft_of(STATUS, OTHER_WORDS), NOW)
    delay.forget(Key("default", "m"))
    assert delay.wait(draft_of(STATUS, OTHER_WORDS), later).after == STATUS_DELAY


def test_delayed_statuses_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_writes, "MAX_DELAYED", 1)
    delay, draft = StatusDelay(), draft_of(STATUS, OTHER_WORDS)
    other = draft_of(STATUS, OTHER_WORDS, name="other")
    delay.wait(draft, NOW)
    delay.wait(other, NOW)
    assert delay.wait(draft, NOW + STATUS_DELAY).after == STATUS_DELAY
