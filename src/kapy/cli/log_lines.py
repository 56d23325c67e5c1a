"""The format of a plane's log lines: text for people, or JSON for log collectors."""

from __future__ import annotations

import json
import logging
import sys
from typing import Final

TEXT: Final = "%(asctime)s %(levelname).1s %(name)s: %(message)s"


class Json(logging.Formatter):
    """Formats one JSON object per line: the fields of a record, next to its message."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        fields = getattr(record, "fields", {})
        record_fields = {
            "ts": round(record.created * 1000, 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": getattr(record, "event", None) or record.getMessage(),
            **fields,
        }
        if record.exc_info:
            record_fields["stacktrace"] = self.formatException(record.exc_info)
        return json.dumps(record_fields, ensure_ascii=False)


def log_to_stderr(verbose: int, form: str = "text", handler: logging.Handler | None = None) -> None:
    """Log warnings and errors to standard error, and more at a higher level.

    form: `text` or `json`. handler: writes the lines, by default to standard error.
    """
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    handler = handler or logging.StreamHandler(sys.stderr)
    handler.setFormatter(Json() if form == "json" else logging.Formatter(TEXT))
    logging.basicConfig(level=level, handlers=[handler])
    # asyncio's debug messages are about polling, not about the plane.
    logging.getLogger("asyncio").setLevel(logging.WARNING)
