"""The writes to a server and their authors, from the audit log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from random import Random
from urllib.parse import parse_qs, urlsplit

from kapy.client.client import Client
from kapy.kube import Document
from tests.real.processes import POD
from tests.waiting import until

_READS = ("get", "list", "watch")
_ASKED = ("authentication.k8s.io", "authorization.k8s.io")


@dataclass(frozen=True, order=True)
class Write:
    """One that came to something. at: when it was asked for. pod: whose it is. manager: of the
    fields."""

    at: str
    pod: str
    namespace: str
    resource: str
    name: str
    manager: str


async def writes(client: Client, log: Path) -> list[Write]:
    """Return the writes of the processes of these tests up to now, in order."""
    sign = f"{Random().getrandbits(64):x}"
    await client.raw("GET", "/version", {"sign": sign})
    await until(lambda: sign in log.read_text())  # logs are written a little later
    return sorted(_written(log))


def _written(log: Path) -> Iterator[Write]:
    for line in log.read_text().splitlines():
        if not line.endswith("}"):
            continue  # it is just being written
        event: Document = json.loads(line)
        ref, who = event.get("objectRef") or {}, event.get("impersonatedUser") or {}
        pods = (who.get("extra") or {}).get(POD)
        if not pods or event["verb"] in _READS or ref.get("apiGroup") in _ASKED:
            continue
        if (event.get("responseStatus") or {}).get("code", 500) < 400:
            query = parse_qs(urlsplit(event["requestURI"]).query)
            yield Write(
                event["requestReceivedTimestamp"],
                pods[0],
                ref.get("namespace", ""),
                ref.get("resource", ""),
                ref.get("name", ""),
                query.get("fieldManager", [""])[0],
            )


def one_after_the_other(values: list[Write]) -> list[str]:
    """Return the pods that wrote, in order; neighbouring writes of one pod count once."""
    return [pod for pod, _ in groupby(values, key=lambda write: write.pod)]
