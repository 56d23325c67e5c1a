"""Tests of the metrics of requests, watches, storage and webhooks at `/metrics`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kapy._aio.clock import loop_clock
from kapy.apiserver.server import Server
from kapy.kube import Document
from tests.apiserver.network_client import Calls
from tests.apiserver.requester import CONFIG_MAPS, CRDS, GIZMO, GIZMOS, Asking, config_map, gizmo
from tests.apiserver.webhooks.webhook_server import allow, bundle, configure, hook, plane, serving


class Scraped:
    """One scrape."""

    def __init__(self, text: str) -> None:
        self.samples = [
            (sample.name, sample.labels, sample.value)
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        ]

    def sum(self, sample: str, /, **labels: str) -> float:
        """The sum of all samples of a name that have these labels."""
        wanted = labels.items()
        return sum(
            value for name, own, value in self.samples if name == sample and wanted <= own.items()
        )


@asynccontextmanager
async def asking() -> AsyncIterator[tuple[Asking, Calls]]:
    """A client in the process and a client over the network, of one server."""
    server = Server.open(None, clock=loop_clock())
    async with asyncio.TaskGroup() as group:
        running = group.create_task(server.run())
        await asyncio.sleep(0)
        near = Asking(server)
        await near.create(CRDS, GIZMO)
        yield near, Calls(server)
        running.cancel()
    server.close()


async def scraped(calls: Calls) -> Scraped:
    answer = await calls.call("GET", "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return Scraped(answer.content.decode())


REFUSAL = {"allowed": False, "status": {"code": 403, "message": "no"}}
ONE = f"{GIZMOS}/a"
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
APPLIED = {"apiVersion": "example.dev/v1", "kind": "Gizmo", "metadata": {"name": "a"}}


@pytest.mark.parametrize(
    ("method", "target", "body", "media", "expected"),
    [
        ("GET", ONE, None, "", {"verb": "GET", "scope": "resource", "code": "404"}),
        ("GET", GIZMOS, None, "", {"verb": "LIST", "scope": "namespace", "code": "200"}),
        ("GET", "/apis/example.dev/v1/gizmos", None, "", {"verb": "LIST", "scope": "cluster"}),
        ("HEAD", GIZMOS, None, "", {"verb": "LIST", "scope": "namespace"}),
        ("POST", GIZMOS, gizmo("a"), "", {"verb": "POST", "scope": "resource", "code": "201"}),
        ("POST", f"{GIZMOS}?dryRun=All", gizmo("a"), "", {"verb": "POST", "dry_run": "All"}),
        ("PUT", ONE, gizmo("a"), "", {"verb": "PUT", "scope": "resource"}),
        ("PATCH", ONE, {}, MERGE, {"verb": "PATCH", "scope": "resource"}),
        ("PATCH", f"{ONE}?fieldManager=m", APPLIED, APPLY, {"verb": "APPLY", "code": "201"}),
        ("PATCH", f"{ONE}/status", {}, MERGE, {"verb": "PATCH", "subresource": "status"}),
        ("DELETE", ONE, None, "", {"verb": "DELETE", "scope": "resource"}),
        ("DELETE", GIZMOS, None, "", {"verb": "DELETE", "scope": "namespace"}),
    ],
)
async def test_a_request_is_counted_by_its_resource(
    method: str, target: str, body: Any, media: str, expected: dict[str, str]
) -> None:
    labels = {"group": "example.dev", "version": "v1", "resource": "gizmos", **expected}
    async with asking() as (near, calls):
        await calls.call(method, target, body, content_type=media or "application/json")
        query = dict([target.partition("?")[2].split("=")]) if "?" in target else {}
        await near.ask(method, target.partition("?")[0], body, media, **query)
        result = await scraped(calls)
        code = labels.pop("code", None)
        assert result.sum("apiserver_request_total", component="apiserver", **labels) == 2
        if code is not None:
            assert result.sum("apiserver_request_total", code=code, **labels) >= 1
        assert result.sum("apiserver_request_duration_seconds_count", **labels) == 2
        timed = result.sum("apiserver_request_sli_duration_seconds_count", **labels)
        assert timed == (0 if "dry_run" in labels else 2)


async def test_pages_are_counted_without_a_resource() -> None:
    async with asking() as (_, calls):
        for target in ("/readyz", "/readyz/etcd", "/nothing", "/version"):
            await calls.call("GET", target)
        result = await scraped(calls)
        assert result.sum("apiserver_request_total", subresource="/readyz", resource="") == 2
        assert result.sum("apiserver_request_total", code="404", verb="GET", resource="") == 1


async def test_answers_over_the_network_are_measured() -> None:
    async with asking() as (near, calls):
        await near.create(GIZMOS, gizmo("a"))
        await near.get(ONE)
        answer = await calls.call("GET", ONE)
        result = await scraped(calls)
        sizes = "apiserver_response_sizes"
        assert result.sum(f"{sizes}_count", verb="GET", resource="gizmos") == 1
        assert result.sum(f"{sizes}_sum", verb="GET", resource="gizmos") == len(answer.content)


async def test_a_watch_is_counted_while_it_continues_and_when_it_ended() -> None:
    async with asking() as (near, calls):
        what = {"group": "example.dev", "version": "v1", "resource": "gizmos"}
        async with near.watching(GIZMOS) as stream:
            await near.create(GIZMOS, gizmo("a"))
            await anext(stream)
            result = await scraped(calls)
            assert result.sum("apiserver_longrunning_requests", verb="WATCH", **what) == 1
            assert result.sum("apiserver_request_total", verb="WATCH", **what) == 0
        answer = await calls.call("GET", f"{GIZMOS}?watch=1&timeoutSeconds=1")
        result = await scraped(calls)
        assert result.sum("apiserver_longrunning_requests", verb="WATCH") == 0
        assert result.sum("apiserver_request_total", verb="WATCH", code="200", **what) == 2
        assert result.sum("apiserver_watch_events_total", **what) == 2
        assert result.sum("apiserver_watch_events_sizes_sum", **what) > len(answer.content)


async def test_stored_objects_are_counted() -> None:
    async with asking() as (near, calls):
        for name in ("a", "b"):
            await near.create(CONFIG_MAPS, config_map(name))
        await near.create(GIZMOS, gizmo("a"))
        await near.delete(f"{CONFIG_MAPS}/b")
        result = await scraped(calls)
        named = {"resource": "gizmos", "group": "example.dev"}
        assert result.sum("apiserver_resource_objects", **named) == 1
        assert result.sum("apiserver_storage_objects", resource="gizmos.example.dev") == 1
        received = "apiserver_watch_cache_events_received_total"
        assert result.sum(received, resource="configmaps", group="") >= 3
        assert result.sum("process_open_fds") > 0


@pytest.mark.sockets
async def test_webhook_calls_are_counted_by_their_result() -> None:
    async with serving() as hooks, plane(lambda _: hooks.base) as near:
        hooks.answers |= {"/yes": allow, "/no": lambda _: REFUSAL}

        def at(path: str) -> Document:
            return {"url": f"{hooks.base}{path}", "caBundle": bundle()}

        removals = {"url": "https://127.0.0.1:1/", "caBundle": bundle()}
        await configure(near, "mutating", hook("yes.hook.dev", at("/yes")))
        await configure(
            near,
            "validating",
            hook("no.hook.dev", at("/no")),
            hook("gone.hook.dev", removals, failurePolicy="Ignore"),
        )
        await near.ask("POST", GIZMOS, gizmo("a"))
        result = await scraped(Calls(near.server))
        requests = "apiserver_admission_webhook_request_total"
        request = {"operation": "CREATE", "rejected": "false"}
        assert result.sum(requests, name="yes.hook.dev", type="admit", code="200", **request) == 1
        assert result.sum(requests, name="gone.hook.dev", code="400", **request) == 1
        refused = {"name": "no.hook.dev", "type": "validating", "operation": "CREATE"}
        assert result.sum(requests, code="403", rejected="true", **refused) == 1
        rejection = {"error_type": "no_error", "rejection_code": "403"}
        assert (
            result.sum("apiserver_admission_webhook_rejection_count", **refused, **rejection) == 1
        )
        assert result.sum("apiserver_admission_webhook_fail_open_count", name="gone.hook.dev") == 1
        seconds = "apiserver_admission_webhook_admission_duration_seconds_count"
        assert result.sum(seconds) == 3
        entries = {"verb": "POST", "resource": "gizmos"}
        whole = result.sum("apiserver_request_duration_seconds_sum", **entries)
        own = result.sum("apiserver_request_sli_duration_seconds_sum", **entries)
        assert 0 < own < whole
