"""The metrics that a program exposes."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import timedelta
from typing import Any

import pytest

from kapy._aio.clock import loop_clock
from kapy.engine.controller import Controller
from kapy.engine.options import ManagerOptions
from kapy.engine.result import DONE, Result, requeue
from kapy.engine.runtime import Runtime
from kapy.kube import Key
from kapy.kube.errors import NotFound
from kapy.kube.http import Request
from tests.engine.fake_server import WIDGETS, FakeServer, widget
from tests.oracle.recorded import SAMPLES

OURS = re.compile(
    "controller_runtime_(reconcile_(total|time_seconds|(errors|panics|timeouts)_total)|"
    "terminal_reconcile_errors_total|active_workers|max_concurrent_reconciles)|workqueue_.*|rest_client_.*|capi_reconcile_.*"
)


async def scraped() -> str:
    options = ManagerOptions(concurrency={"machine": 1})
    runtime = Runtime.on(FakeServer(), clock=loop_clock(), options=options)
    answers: list[Result | Exception] = [
        NotFound("gone"),
        ValueError("a bug"),
        requeue(after=timedelta(seconds=100), because="later"),
    ]

    async def reconcile(key: Key) -> Result:
        await asyncio.sleep(0.2)
        answer = answers.pop(0) if answers else DONE
        if isinstance(answer, Exception):
            raise answer
        return answer

    controller = runtime.add(Controller("machine", reconcile))
    controller.watch(runtime.cache.informer(WIDGETS))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(runtime.run())
        await runtime.client.create(WIDGETS, widget("a"))
        with pytest.raises(NotFound):
            await runtime.client.get(WIDGETS, Key("default", "b"))
        await asyncio.sleep(10)
        controller.enqueue(Key("default", "b"))
        controller.enqueue(Key("default", "c"))
        await asyncio.sleep(0.1)
        text = runtime.metrics.text().decode()
        task.cancel()
    return text


@pytest.mark.parametrize(
    "line",
    [
        'controller_runtime_reconcile_total{controller="machine",result="error"} 2.0',
        'controller_runtime_reconcile_total{controller="machine",result="requeue_after"} 1.0',
        'controller_runtime_reconcile_total{controller="machine",result="success"} 0.0',
        'capi_reconcile_total{controller="machine",result="error"} 2.0',
        'controller_runtime_reconcile_errors_total{controller="machine"} 2.0',
        'controller_runtime_reconcile_panics_total{controller="machine"} 1.0',
        'controller_runtime_active_workers{controller="machine"} 1.0',
        'controller_runtime_max_concurrent_reconciles{controller="machine"} 1.0',
        'controller_runtime_reconcile_time_seconds_bucket{controller="machine",le="0.15"} 0.0',
        'controller_runtime_reconcile_time_seconds_bucket{controller="machine",le="0.25"} 3.0',
        'controller_runtime_reconcile_time_seconds_count{controller="machine"} 3.0',
        'workqueue_depth{controller="machine",name="machine",priority="0"} 1.0',
        'workqueue_adds_total{controller="machine",name="machine"} 5.0',
        'workqueue_retries_total{controller="machine",name="machine"} 2.0',
        'workqueue_work_duration_seconds_bucket{controller="machine",le="1.0",name="machine"} 3.0',
        'workqueue_queue_duration_seconds_count{controller="machine",name="machine"} 4.0',
        'rest_client_requests_total{code="404",host="in-process",method="GET"} 1.0',
        'rest_client_requests_total{code="200",host="in-process",method="GET"} 2.0',
        'rest_client_requests_total{code="200",host="in-process",method="POST"} 1.0',
    ],
)
async def test_a_scrape_shows_counts_and_durations(line: str) -> None:
    assert line in (await scraped()).splitlines()


async def test_running_work_is_timed() -> None:
    text = await scraped()
    for name in (
        "workqueue_unfinished_work_seconds",
        "workqueue_longest_running_processor_seconds",
    ):
        match = re.search(rf"^{name}{{.*}} (.*)$", text, re.MULTILINE)
        assert match is not None
        assert 0.09 < float(match[1]) < 0.11


async def test_two_programs_have_two_registries() -> None:
    runtime, two = (Runtime.on(FakeServer(), clock=loop_clock()) for _ in range(2))
    await runtime.client.transport(Request("GET", "/apis/example.com/v1/widgets"))
    assert b"in-process" in runtime.metrics.text()
    assert b"in-process" not in two.metrics.text()


def _families(text: str) -> dict[str, tuple[str, set[str], list[str]]]:
    """Type, label names and buckets by family name."""
    families: dict[str, tuple[str, set[str], list[str]]] = {}
    for line in text.splitlines():
        if line.startswith("# TYPE"):
            _, _, name, kind = line.split()
            families[name] = (kind, set(), [])
        elif line and not line.startswith("#"):
            _, labels, buckets = families[name]
            labels |= set(re.findall(r'(\w+)="', line)) - {"le"}
            buckets += re.findall(r'le="([^"]*)"', line)
    return families


async def test_families_are_as_recorded_from_upstream() -> None:
    recorded: dict[str, Any] = {}
    sample = SAMPLES / "metrics" / "metrics.json"
    for families in json.loads(sample.read_text()).values():
        recorded |= {name: family for name, family in families.items() if OURS.fullmatch(name)}
    ours = _families(await scraped())
    assert set(recorded) == {name for name in ours if OURS.fullmatch(name)}
    for name, value in recorded.items():
        kind, labels, buckets = ours[name]
        assert kind == value["type"], name
        assert labels == set(value["labels"]), name
        bounds = [float(bound) for bound in value.get("buckets", [])]
        assert [float(bound) for bound in dict.fromkeys(buckets)] == pytest.approx(bounds), name
