"""Log records of one process that another one writes, with the name of the process before them."""

from __future__ import annotations

import logging
from typing import Any

from kapy.apps.workers.channel import Channel
from kapy.apps.workers.targets import LOG
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
    """Sends records to the other process, with their fields."""

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel
        self.setFormatter(logging.Formatter("%(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record, with its traceback."""
        event = getattr(record, "event", None)
        entry = [record.levelno, record.name, self.format(record), event, fields_of(record)]
        self._channel.notify(LOG, entry)
