"""The common behaviour of the SDK's controllers: backoff, and limits on the objects they serve."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import count
from typing import Any, Final

import pytest

from kapy.api.names import Annotation, Label
from kapy.engine.options import DEFAULT_OPTIONS, ManagerOptions
from kapy.engine.runtime import Runtime
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.sdk import Waiting
from kapy.sdk.machine_control_plane import ControlPlaneObserved
from kapy.testing.provider_bench import ProviderBench, key, provider_bench
from tests.sdk.one_of_each import EACH, FINALIZER, NAME, Each

EVERY: Final = [pytest.param(value, id=name) for name, value in EACH.items()]


class Asked:
    """A provider's question in the place of its own; how often it was asked."""

    def __init__(self, answer: Any) -> None:
        self.times = 0
        self._answer = answer

    async def __call__(self, *args: Any, **named: Any) -> Any:
        self.times += 1
        return await self._answer(*args, **named)


@asynccontextmanager
async def asked(
    case: Each, answer: Any = None, options: ManagerOptions = DEFAULT_OPTIONS, **metadata: Any
) -> AsyncIterator[tuple[ProviderBench, Asked]]:
    async with provider_bench([case.resource, *case.kinds]) as bench:
        bench.runtime = Runtime.on(bench.transport, clock=bench.clock, options=options)
        provider = case.provider()
        question = Asked(answer or getattr(provider, case.question))
        setattr(provider, case.question, question)
        case.add(bench.runtime, provider)
        async with bench.running():
            await case.begin(bench, metadata)
            yield bench, question


def failing() -> Any:
    requests = count()

    async def answer(*_: Any, **__: Any) -> Any:
        raise KapyError(f"request {next(requests)} was refused")

    return answer


def waiting() -> Any:
    requests = count()

    async def answer(*_: Any, **__: Any) -> Any:
        return Waiting(message=f"waiting for request {next(requests)}")

    return answer


def unsteady() -> Any:
    requests = count()

    async def answer(*_: Any, **__: Any) -> Any:
        return ControlPlaneObserved(
            initialized=False,
            conditions=[_condition(f"request {next(requests)}")],
            requeue_after=timedelta(seconds=10),
            requeue_reason="it is early",
        )

    return answer


def _condition(message: str) -> Any:
    from kapy.sdk import conditions

    return conditions.false("Steady", "Unsteady", message)


@pytest.mark.parametrize("case", EVERY)
@pytest.mark.parametrize("how", ["fails", "waits"])
async def test_varying_messages_cause_no_extra_reconciles_and_foreign_changes_do(
    case: Each, how: str
) -> None:
    later = unsteady if case.question == "observe" else waiting
    answer, most = (failing(), 14) if how == "fails" else (later(), 6)
    async with asked(case, answer) as (bench, question):
        await asyncio.sleep(30)
        assert 2 <= question.times <= most
        times = question.times
        somebodys = {"status": {"somebody": "was here"}}
        await bench.client.patch(case.resource, key(NAME), somebodys, subresource="status")
        await asyncio.sleep(0.4)
        assert question.times > times


LIMITS: Final[list[tuple[str, ManagerOptions, Document, bool]]] = [
    ("nothing", DEFAULT_OPTIONS, {}, True),
    ("its namespace", ManagerOptions(namespace="default"), {}, True),
    ("another namespace", ManagerOptions(namespace="elsewhere"), {}, False),
    (
        "its filter",
        ManagerOptions(watch_filter="mine"),
        {"labels": {Label.WATCH_FILTER: "mine"}},
        True,
    ),
    (
        "another filter",
        ManagerOptions(watch_filter="mine"),
        {"labels": {Label.WATCH_FILTER: "yours"}},
        False,
    ),
    ("no label", ManagerOptions(watch_filter="mine"), {}, False),
    ("managed from outside", DEFAULT_OPTIONS, {"annotations": {Annotation.MANAGED_BY: ""}}, False),
]
NEVER_FROM_OUTSIDE: Final = ("claims", "infra machine", "infra machine pool")
"""Kinds that no contract allows to be managed externally."""


@pytest.mark.parametrize(
    ("case", "options", "metadata", "served"),
    [
        pytest.param(EACH[name], options, metadata, served, id=f"{name}, {limit}")
        for name in EACH
        for limit, options, metadata, served in LIMITS
        if not (limit == "managed from outside" and name in NEVER_FROM_OUTSIDE)
    ],
)
async def test_only_objects_with_the_watch_label_are_served(
    case: Each, options: ManagerOptions, metadata: Document, *, served: bool
) -> None:
    async with asked(case, None, options, **metadata) as (bench, question):
        await asyncio.sleep(20)
        document = await bench.get(case.resource, NAME)
        assert document is not None
        assert (question.times > 0) is served
        assert (FINALIZER in document["metadata"].get("finalizers", ())) is served
        assert ("status" in document) is served
