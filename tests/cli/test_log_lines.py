"""Lines of the log, whose names and messages others may have written."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kapy.cli.log_lines import TEXT, Json, Text
from kapy.engine.reconcile_log import CURRENT, ReconcileContext, log_changes
from kapy.kube import Key

HOSTILE = "not ready\n2026-11-29 15:00:00,000 E kapy: forged\x1b[2J\r\x9b1m\tend ü"


def record(message: str) -> logging.LogRecord:
    return logging.LogRecord("kapy", logging.INFO, "file", 1, "%s", (message,), None)


def test_a_message_neither_begins_a_line_nor_controls_a_terminal() -> None:
    first, second = Text(TEXT).format(record(HOSTILE)).split("\n")
    assert first.endswith("I kapy: not ready")
    assert second == "    2026-11-29 15:00:00,000 E kapy: forged\\x1b[2J\\x0d\\x9b1m\tend ü"


def test_a_json_line_has_the_message_as_it_is() -> None:
    line = Json().format(record(HOSTILE))
    assert "\n" not in line
    assert json.loads(line)["msg"] == HOSTILE


def test_a_traceback_is_indented_without_controls() -> None:
    try:
        raise ValueError("why\n2026-11-29 15:00:00,000 E kapy: forged\x1b[2J")
    except ValueError as error:
        failed = record("failed")
        failed.exc_info = (type(error), error, error.__traceback__)
    lines = Text(TEXT).format(failed).splitlines()
    assert lines[1] == "    Traceback (most recent call last):"
    assert lines[-2:] == [
        "    ValueError: why",
        "    2026-11-29 15:00:00,000 E kapy: forged\\x1b[2J",
    ]


def owner(kind: str, name: str = "n") -> dict[str, Any]:
    return {"apiVersion": "a/v1", "kind": kind, "name": name, "uid": "u", "controller": True}


@contextmanager
def reconcile(*owners: dict[str, Any]) -> Iterator[None]:
    context = ReconcileContext("machine", Key("default", "m"))
    metadata = {"name": "m", "namespace": "default", "ownerReferences": owners}
    context.document = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Machine",
        "metadata": metadata,
        "spec": {"clusterName": 'c"\n2026 forged \x1b[2J'},
    }
    token = CURRENT.set(context)
    try:
        yield
    finally:
        CURRENT.reset(token)


def test_fields_of_an_object_neither_begin_a_line_nor_end_their_quotes() -> None:
    with reconcile():
        line = Text(TEXT).format(record("text"))
    assert 'Cluster="default/c\\"\n    2026 forged \\x1b[2J" reconcileID="' in line


@pytest.mark.parametrize(
    "kind", ["msg", "ts", "level", "controller", "reconcileID", "name", "Machine", "Cluster"]
)
def test_an_owner_of_any_kind_hides_no_field(kind: str) -> None:
    with reconcile(owner("MachineSet", "set")):
        expected = json.loads(Json().format(record("text")))
    with reconcile(owner("MachineSet", "set"), owner(kind)):
        line = json.loads(Json().format(record("text")))
    for fields in (expected, line):
        del fields["ts"], fields["reconcileID"]
    assert line == expected
    assert line["MachineSet"] == {"namespace": "default", "name": "set"}


@pytest.mark.parametrize(
    "status",
    [
        "text",
        {"conditions": "text"},
        {"conditions": {"type": "Ready"}},
        {"conditions": [None, "text", {"type": ["Ready"], "status": 3, "message": None}]},
        {"conditions": [{"type": "Ready", "reason": 3, "message": ["text"]}], "phase": {}},
    ],
    ids=str,
)
def test_changes_of_any_status_are_logged(status: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kapy")
    before = {"kind": "Machine", "metadata": {"name": "m"}}
    log_changes(before, {**before, "status": status})
    log_changes({**before, "status": status}, before)


def test_a_long_message_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kapy")
    condition = {"type": "Ready", "status": "False", "message": "long " * 10_000}
    before = {"kind": "Machine", "metadata": {"name": "m"}}
    log_changes(before, {**before, "status": {"conditions": [condition]}})
    (logged,) = caplog.messages
    assert len(logged) < 1_200
