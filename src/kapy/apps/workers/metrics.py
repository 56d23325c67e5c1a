"""Metrics of workers on the page of their plane, with the worker's name as the label `process`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from kapy.apps.workers.channel import METRICS, Channel
from kapy.kube.errors import Unreachable
from kapy.kube.http import Reply, Request

if TYPE_CHECKING:
    from prometheus_client.core import Metric

SECONDS: Final = 2.0
"""Seconds that a worker has to answer: a page without the metrics of one that hangs is better than
no page."""


class _Sample(msgspec.Struct, array_like=True):
    name: str
    labels: dict[str, str]
    value: float


class _Family(msgspec.Struct, array_like=True):
    name: str
    help: str
    type: str
    samples: list[_Sample]


def metrics_reply(families: Iterable[Metric]) -> Reply:
    """Return the answer of a worker to a request for its metrics."""
    body = [
        _Family(
            family.name,
            family.documentation,
            family.type,
            [_Sample(sample.name, sample.labels, float(sample.value)) for sample in family.samples],
        )
        for family in families
    ]
    return Reply(200, msgspec.json.encode(body))


def decode_families(body: bytes) -> list[Metric]:
    """Return the families of a `metrics_reply`."""
    from prometheus_client.core import Metric

    metrics = []
    for family in msgspec.json.decode(body, type=list[_Family]):
        metric = Metric(family.name, family.help, family.type)
        for sample in family.samples:
            metric.add_sample(sample.name, sample.labels, sample.value)
        metrics.append(metric)
    return metrics


async def merge_metrics(
    own: Iterable[Metric], workers: Sequence[tuple[str, Channel]]
) -> list[Metric]:
    """Return the families of a plane, with the samples of its workers in them."""
    families = {family.name: family for family in own}
    answers = await asyncio.gather(*(_metrics_of(channel) for _, channel in workers))
    for (name, _), answer in zip(workers, answers, strict=True):
        for family in answer:
            _merge(families, family, name)
    return list(families.values())


async def _metrics_of(channel: Channel) -> list[_Family]:
    try:
        async with asyncio.timeout(SECONDS):
            reply = await channel.ask(METRICS, Request("GET", "/"))
    except (Unreachable, TimeoutError):
        return []
    assert isinstance(reply.body, bytes)
    return msgspec.json.decode(reply.body, type=list[_Family])


def _merge(families: dict[str, Metric], family: _Family, process: str) -> None:
    from prometheus_client.core import Metric

    merged = families.get(family.name)
    if merged is None:
        merged = families[family.name] = Metric(family.name, family.help, family.type)
    for sample in _samples(family, process):
        merged.add_sample(sample.name, sample.labels, sample.value)


def _samples(family: _Family, process: str) -> Iterator[_Sample]:
    for sample in family.samples:
        yield _Sample(sample.name, {**sample.labels, "process": process}, sample.value)
