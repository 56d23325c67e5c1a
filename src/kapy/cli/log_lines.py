"""The format of log lines: text for people, or JSON for log collectors.

Both have the fields of a record, among them those of the reconcile that logged it.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from typing import Any, Final

from kapy.engine.reconcile_log import fields_of

TEXT: Final = "%(asctime)s %(levelname).1s %(name)s: %(message)s"
_SHOWN: Final = ("controller", "namespace", "name", "Cluster", "reconcileID")
_CONTROLS: Final = {
    number: "\n    " if number == ord("\n") else f"\\x{number:02x}"
    for number in (*range(0x20), *range(0x7F, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
    if number != ord("\t")
}
"""The replacements of control characters, line separators and marks of direction. Others write
names and messages: they may neither move the cursor of a terminal nor begin a line that
looks like one of kapy's."""
_ID_LENGTH: Final = 8
"""A text has the beginning of a reconcile's ID, which tells reconciles of one object apart."""


class Text(logging.Formatter):
    """Formats a line of text, which ends with the fields of the reconcile that logged it."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        """Return the line, without the traceback."""
        text, fields = super().formatMessage(record), fields_of(record)
        if "reconcileID" in fields:
            names = [name for name in _SHOWN if fields.get(name)]
            shown = [f"{name}={_quoted(_short(name, fields[name]))}" for name in names]
            text = " ".join((text, *shown))
        return _without_controls(text)

    def formatException(self, ei: Any) -> str:  # noqa: N802
        """Return the traceback, indented: others may have written the message of the exception."""
        return "    " + _without_controls(super().formatException(ei))


class Json(logging.Formatter):
    """Formats one JSON object per line: the fields of a record, next to its message."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record as JSON."""
        line = {
            **fields_of(record),
            "ts": round(record.created * 1000, 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": getattr(record, "event", None) or record.getMessage(),
        }
        if record.exc_info:
            line["stacktrace"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def log_to_stderr(verbose: int, form: str = "text", handler: logging.Handler | None = None) -> None:
    """Log warnings and errors to standard error, and more at a higher level.

    form: `text` or `json`. handler: writes the lines, by default to standard error.
    """
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    handler = handler or logging.StreamHandler(sys.stderr)
    handler.setFormatter(Json() if form == "json" else Text(TEXT))
    logging.basicConfig(level=level, handlers=[handler])
    # asyncio's debug messages are about polling, not about the plane.
    logging.getLogger("asyncio").setLevel(logging.WARNING)


def _without_controls(text: str) -> str:
    return text if text.isprintable() else text.translate(_CONTROLS)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _short(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{value['namespace']}/{value['name']}"
    return value[:_ID_LENGTH] if name == "reconcileID" else str(value)
