"""Lines of the log, whose names and messages others may have written."""

from __future__ import annotations

import json
import logging

from kapy.cli.log_lines import TEXT, Json, Text

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


def test_a_traceback_is_not_changed() -> None:
    try:
        raise ValueError("why")
    except ValueError as error:
        failed = record("failed")
        failed.exc_info = (type(error), error, error.__traceback__)
    lines = Text(TEXT).format(failed).splitlines()
    assert lines[1] == "Traceback (most recent call last):"
    assert lines[-1] == "ValueError: why"
