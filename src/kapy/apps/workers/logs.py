"""Log records of one process that another one writes, with the name of the process before them."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

from kapy.apps.workers.channel import LOG, Channel
from kapy.engine.reconcile_log import fields_of


def log_over(channel: Channel, level: int) -> None:
    """Let the process at the other end of a channel write what is logged here."""
    root = logging.getLogger()
    root.handlers[:] = [_ChannelHandler(channel)]
    root.setLevel(level)
    logging.getLogger("asyncio").setLevel(max(level, logging.WARNING))


def write_log(process: str, record: Any) -> None:
    """Log the value of a notice LOG. process: the name of the process that sent it."""
    level, logger, message, event, fields = record
    extra = {"event": event, "fields": fields}
    logging.getLogger(logger).log(level, "%s: %s", process, message, extra=extra)


class _ChannelHandler(logging.Handler):
    """Sends records to the other process, with their fields. Records of other threads are sent by
    the event loop, as a channel belongs to it.
    """

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self.setFormatter(logging.Formatter("%(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record, with its traceback. A record that cannot be sent is reported on standard
        error, as by other handlers.
        """
        try:
            event = getattr(record, "event", None)
            entry = [record.levelno, record.name, self.format(record), event, fields_of(record)]
            value = _plain(entry)
            if threading.get_ident() == self._thread:
                self._channel.notify(LOG, value)
            else:
                self._loop.call_soon_threadsafe(self._channel.notify, LOG, value)
        except Exception:
            self.handleError(record)


def _plain(value: Any) -> Any:
    """Return a value that a message can carry: of JSON's types, and without halves of surrogate
    pairs.
    """
    match value:
        case None | bool() | int() | float():
            return value
        case list() | tuple():
            return [_plain(item) for item in value]
        case dict():
            return {_plain(str(key)): _plain(item) for key, item in value.items()}
        case _:
            return str(value).encode("utf-8", "backslashreplace").decode()
