"""Recorded runs that read clusters and steer rollouts, against a server with the recorded objects.

The recording has the objects at some points of time; each is loaded into a server of its own, and
the commands that were run then are run again, in their order. Ages are those at some moment within
a minute of the last change: the first that fits counts, and later runs begin their search there.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Final
from unittest.mock import patch

from kapy.api.kinds import KINDS
from kapy.client.client import Client
from kapy.client.https import ApiTransport
from kapy.client.kubeconfig_files import load as access_of
from kapy.kube import Document, Key
from kapy.kube.names import CRDS, SECRETS
from tests.clusterctl.move.management_clusters import load, simple_crd
from tests.clusterctl.recorded import moments
from tests.oracle.commands import Run, ran
from tests.oracle.live import named
from tests.oracle.mistakes import said
from tests.oracle.served import kubeconfig_of, served
from tests.oracle.topic import Record, Result, compared, result_of

_THEIR_KUBECONFIG: Final = "${WORK}/A/kubeconfig.user"
_RESOURCES: Final = {kind.name.lower(): kind.type_of().RESOURCE for kind in KINDS}
_TIME: Final = "${time:1}"
_USUALLY: Final = "available: shop"
_IN_MOTION: Final = "rolling out: shop"
"""The recorded description differs from the objects recorded a moment later.
The replay compares only exit codes."""
_STYLE: Final = re.compile(r"(\x1b\[[\d;]*m)")


def replayed(runs: Sequence[Record], points: Mapping[str, list[Document]]) -> list[Result]:
    """The results of runs in their order."""
    results: list[Result] = []
    for point, some in groupby(_at_points(runs), key=lambda entry: entry[0]):
        with _loaded(points[point]) as setup:
            results += [
                result_of(named(document), setup.differences, document) for _, document in some
            ]
    return results


def _at_points(runs: Sequence[Record]) -> Iterator[tuple[str, Record]]:
    """Each run with its point; one that describes nothing is at the point of the run before."""
    point = _USUALLY
    for run in runs:
        point = run.get("objects", point)
        yield point, run


@dataclass
class _Setup:
    """moments: when the commands may have been run; the one that fitted last comes first."""

    kubeconfig: Path
    moments: deque[datetime]

    def differences(self, record: Record) -> Iterator[str]:
        if record["title"] == "get kubeconfig shop":
            asyncio.run(self._keep_kubeconfig(record["stdout"]))
        here = self._ran_as_recorded(record)
        if here.code != record["rc"]:
            yield f"rc: recorded {record['rc']}, given {here.code}: {here.errors.strip()}"
        elif here.code:
            yield from said(record["stderr"].strip(), here.errors.strip())
        elif record.get("objects") != _IN_MOTION:
            yield from compared(_seen(record["stdout"]), _seen(here.output), "stdout")
        if "effect" in record:
            document = asyncio.run(self._effect(*record["args"][3].split("/")))
            yield from compared(record["effect"]["after"], document, "effect")

    def _ran_as_recorded(self, record: Record) -> Run:
        if record.get("objects", _IN_MOTION) == _IN_MOTION:
            return self._ran(record, self.moments[0])
        for _ in range(len(self.moments)):
            here = self._ran(record, self.moments[0])
            if _seen(here.output) == _seen(record["stdout"]):
                break
            self.moments.rotate(-1)
        return here

    def _ran(self, record: Record, now: datetime) -> Run:
        arguments = [arg.replace(_THEIR_KUBECONFIG, str(self.kubeconfig)) for arg in record["args"]]
        with patch("kapy._aio.clock.system_clock", lambda: now):
            return ran({**record, "args": arguments})

    async def _keep_kubeconfig(self, text: str) -> None:
        name = {"namespace": "fleet", "name": "shop-kubeconfig"}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": name}
        async with _client(self.kubeconfig) as client:
            await client.delete(SECRETS, Key("fleet", "shop-kubeconfig"))
            await client.create(SECRETS, {**secret, "stringData": {"value": text}})

    async def _effect(self, word: str, name: str) -> Document:
        async with _client(self.kubeconfig) as client:
            document = await client.get(_RESOURCES[word], Key("fleet", name))
        rollout = dict(document["spec"]["rollout"])
        if re.fullmatch(r"\d{4}-\d\d-\d\dT.*Z", rollout.get("after", "")):
            rollout["after"] = _TIME
        return {
            "annotations": document["metadata"].get("annotations"),
            "spec.paused": document["spec"].get("paused"),
            "spec.rollout": rollout,
        }


@contextmanager
def _loaded(objects: list[Document]) -> Iterator[_Setup]:
    with served() as (url, ca), tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        kubeconfig.write_text(json.dumps(kubeconfig_of(url, ca)))
        asyncio.run(_load(kubeconfig, objects))
        yield _Setup(kubeconfig, deque(moments(objects)))


async def _load(kubeconfig: Path, objects: list[Document]) -> None:
    text = json.dumps(objects).replace('"<redacted>"', '"cmVkYWN0ZWQ="')
    async with _client(kubeconfig) as client:
        for kind in KINDS:
            await client.create(CRDS, simple_crd(kind.type_of().RESOURCE))
        await load(client, json.loads(text))


@asynccontextmanager
async def _client(kubeconfig: Path) -> AsyncIterator[Client]:
    transport = ApiTransport(access_of([kubeconfig]))
    try:
        yield Client(transport)
    finally:
        await transport.aclose()


def _seen(text: str) -> list[str]:
    """Return the lines on a terminal, then the colour and weight of each painted text."""
    painted, style = [], ("", False)
    for part in _STYLE.split(text.rstrip()):
        if _STYLE.fullmatch(part):
            style = _styled(style, part[2:-1].split(";"))
        elif part.strip() and style != ("", False):
            painted.append(f"{part.strip()}: {style}")
    return [*_STYLE.sub("", text).rstrip().splitlines(), *painted]


def _styled(style: tuple[str, bool], codes: list[str]) -> tuple[str, bool]:
    """color and whether it is bold, after the codes of an escape sequence."""
    color, bold = style
    for code in codes:
        if code in ("0", ""):
            color, bold = "", False
        elif code in ("1", "22"):
            bold = code == "1"
        else:
            color = code
    return color, bold
