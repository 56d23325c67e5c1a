"""The plane writes the log of its workers, with the fields of their reconciles."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from io import StringIO
from typing import Any, cast

import pytest

from kapy.apps.workers.channel import Channel
from kapy.apps.workers.logs import log_over, write_log
from kapy.cli.log_lines import Json
from kapy.engine.reconcile_log import CURRENT, ReconcileContext
from kapy.kube import Key

MACHINE = {
    "apiVersion": "cluster.x-k8s.io/v1beta2",
    "kind": "Machine",
    "metadata": {"namespace": "default", "name": "m"},
    "spec": {"clusterName": "c"},
}


class RecordingChannel:
    """Keeps what is sent, as it arrives at the other end: as JSON."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.threads: set[int] = set()

    def notify(self, _: str, value: Any) -> None:
        self.threads.add(threading.get_ident())
        self.sent.append(json.loads(json.dumps(value, ensure_ascii=False).encode()))


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    logger = logging.getLogger()
    handlers, level = list(logger.handlers), logger.level
    yield logger
    logger.handlers[:] = handlers
    logger.setLevel(level)


async def test_a_record_keeps_its_fields_on_its_way(root: logging.Logger) -> None:
    channel = RecordingChannel()
    log_over(cast("Channel", channel), logging.INFO)
    context = ReconcileContext("machine", Key("default", "m"))
    context.document = MACHINE
    token = CURRENT.set(context)
    logging.getLogger("kapy.core").info("waits")
    CURRENT.reset(token)
    logging.getLogger("kapy.core").info("outside")
    lines = StringIO()
    handler = logging.StreamHandler(lines)
    handler.setFormatter(Json())
    root.handlers[:] = [handler]
    for record in channel.sent:
        write_log("worker-1", record)
    inside, outside = map(json.loads, lines.getvalue().splitlines())
    assert inside["msg"] == "worker-1: waits"
    assert inside["controller"] == "machine"
    assert inside["Machine"] == {"namespace": "default", "name": "m"}
    assert inside["Cluster"] == {"namespace": "default", "name": "c"}
    assert inside["reconcileID"]
    assert set(outside) == {"ts", "level", "logger", "msg"}


async def test_records_of_other_threads_are_sent_by_the_loop(root: logging.Logger) -> None:
    channel = RecordingChannel()
    log_over(cast("Channel", channel), logging.INFO)
    thread = threading.Thread(target=logging.getLogger("kapy").info, args=("from a thread",))
    thread.start()
    thread.join()
    await asyncio.sleep(0)
    assert [record[2] for record in channel.sent] == ["from a thread"]
    assert channel.threads == {threading.get_ident()}


@pytest.mark.parametrize(
    ("message", "arguments", "fields", "sent"),
    [
        ("half \ud800", (), {}, "half \\ud800"),
        ("%s", (b"\xff",), {"value": object}, "b'\\xff'"),
        ("%d", ("no number",), {}, None),
    ],
    ids=["surrogate", "bytes", "arguments"],
)
async def test_no_record_fails_its_logger(
    root: logging.Logger,
    capsys: pytest.CaptureFixture[str],
    message: str,
    arguments: tuple[Any, ...],
    fields: dict[str, Any],
    sent: str | None,
) -> None:
    channel = RecordingChannel()
    log_over(cast("Channel", channel), logging.INFO)
    logging.getLogger("kapy").info(message, *arguments, extra={"fields": fields})
    assert [record[2] for record in channel.sent] == ([] if sent is None else [sent])
    assert ("Logging error" in capsys.readouterr().err) == (sent is None)
