"""The caller selects handlers for an object, and evaluates good and bad answers."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from kapy.client.client import Client
from kapy.engine.cache import Cache, Change
from kapy.hooks.breaker import FAILURE_THRESHOLD
from kapy.hooks.caller import MAX_CONCURRENT_CALLS, Caller, Subject
from kapy.hooks.catalog import Catalog, own_catalog
from kapy.hooks.errors import HookError
from kapy.hooks.hook import AnyHook, Conversion, Hook
from kapy.hooks.messages.lifecycle import (
    BEFORE_CLUSTER_CREATE,
    BeforeClusterCreateRequest,
)
from kapy.hooks.messages.message import Response, RetryResponse
from kapy.hooks.messages.topology_mutation import (
    DISCOVER_VARIABLES,
    GENERATE_PATCHES,
    VALIDATE_TOPOLOGY,
)
from kapy.hooks.registry import Registry
from kapy.kube import Document, Key
from kapy.kube.http import Reply, Request
from kapy.kube.names import NAMESPACES
from tests.hooks.extension import VERSION, Extension, Network, config
from tests.spans import spans_told

HERD = Subject("Cluster", Key("meadow", "herd"))
REQUEST: Document = {"cluster": {"metadata": {"name": "herd"}}}
FAILED = 'failed to call extension handler "quota.ext": '


async def nowhere(_: Request) -> Reply:
    raise AssertionError("nothing is read but what is cached")


class Plane:
    """Extensions, what was discovered of them, and a caller."""

    def __init__(self, *hooks: AnyHook, **extensions: Extension) -> None:
        self.extensions = extensions
        self.registry = Registry()
        cache = Cache(Client(nowhere))
        namespaces = cache.informer(NAMESPACES)
        meadow = {"name": "meadow", "resourceVersion": "1", "labels": {"grows": "grass"}}
        cache.observe(NAMESPACES, {"metadata": meadow})
        self.woken: list[Key] = []
        catalog = Catalog([*own_catalog(), *hooks])
        self.caller = Caller(
            self.registry, catalog, namespaces, Network(**extensions), random=Random(0)
        )
        self.caller.subscribe("Cluster", self.woken.append)
        self.generation = 0
        for name in extensions:
            self.register(name)

    def register(self, name: str, policy: str = "Fail", seconds: int = 10, **spec: Any) -> None:
        self.generation += 1
        handlers = [
            {
                "name": f"{handler}.{name}",
                "requestHook": {"apiVersion": VERSION, "hook": hook},
                "timeoutSeconds": seconds,
                "failurePolicy": policy,
            }
            for handler, (hook, _) in self.extensions[name].handlers.items()
        ]
        document = config(name, **spec)
        document["metadata"] |= {"uid": name, "generation": self.generation}
        condition = {
            "type": "Discovered",
            "status": "True",
            "observedGeneration": self.generation,
            "reason": "Discovered",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        document["status"] = {"handlers": handlers, "conditions": [condition]}
        self.registry.observe(Change(None, document))

    async def create(self) -> RetryResponse:
        return await self.caller.call_all(BEFORE_CLUSTER_CREATE, HERD, REQUEST)

    async def failure(self) -> str:
        with pytest.raises(HookError) as caught:
            await self.create()
        hook = "BeforeClusterCreate.hooks.runtime.cluster.x-k8s.io"
        message = str(caught.value)
        assert message.startswith(f'failed to call extension handlers for hook "{hook}": ')
        return message.partition(": ")[2]


def quota(**answer: Any) -> Extension:
    return Extension(quota=("BeforeClusterCreate", answer))


def waits(seconds: int, message: str = "") -> Document:
    return {"retryAfterSeconds": seconds, "message": message}


async def test_a_hook_without_handlers_passes() -> None:
    assert await Plane().create() == RetryResponse()


async def test_handlers_answer_together_in_the_order_of_their_names() -> None:
    both = Extension(b=("BeforeClusterCreate", waits(9, "bees")), a=("BeforeClusterCreate", {}))
    plane = Plane(two=both, one=Extension(b=("BeforeClusterCreate", waits(5, "birds"))))
    assert await plane.create() == RetryResponse(retry_after_seconds=5, message="birds, bees")
    assert both.calls() == ["a", "b"]


async def test_the_first_failure_ends_a_blocking_call() -> None:
    last = quota()
    refusing = Extension(a=("BeforeClusterCreate", {"status": "Failure", "message": "no room"}))
    plane = Plane(ext=refusing, last=last)
    assert await plane.failure() == (
        'failed to call extension handler "a.ext": got failure response with message: no room'
    )
    assert last.calls() == []


async def test_settings_of_the_call_precede_those_of_the_config() -> None:
    plane = Plane(ext=quota())
    plane.register("ext", settings={"a": "config", "b": "config"})
    await plane.caller.call(
        BEFORE_CLUSTER_CREATE, "quota.ext", HERD, {**REQUEST, "settings": {"a": "call"}}
    )
    assert plane.extensions["ext"].asked[0].request == {
        "apiVersion": VERSION,
        "kind": "BeforeClusterCreateRequest",
        "settings": {"a": "call", "b": "config"},
        **REQUEST,
    }


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({}, True),
        ({"matchLabels": {"grows": "grass"}}, True),
        ({"matchLabels": {"grows": "trees"}}, False),
    ],
)
async def test_namespaces_are_selected(selector: Document, expected: bool) -> None:
    plane = Plane(ext=quota())
    plane.register("ext", namespaceSelector=selector)
    await plane.create()
    assert bool(plane.extensions["ext"].asked) == expected


def broken(**changes: Any) -> Extension:
    extension = quota()
    for name, value in changes.items():
        setattr(extension, name, value)
    return extension


URL = f"https://ext/{VERSION}/beforeclustercreate/quota?timeout=10s"
BAD = [
    pytest.param(broken(down="EOF"), f'http call failed: Post "{URL}": EOF', id="reset"),
    pytest.param(
        broken(delay=11.0), f'http call failed: Post "{URL}": no answer within 10s', id="too late"
    ),
    pytest.param(
        broken(code=500, raw="so früh\n".encode()),
        'http call failed: got response with status code 500 != 200: response : "so früh\\n"',
        id="500",
    ),
    pytest.param(
        broken(code=301, raw=b""),
        'http call failed: got response with status code 301 != 200: response : ""',
        id="a redirect is not followed",
    ),
    pytest.param(
        broken(code=404, raw=b"x" * 600),
        f'http call failed: got response with status code 404 != 200: response : "{"x" * 512}..."',
        id="a long page is cut",
    ),
    pytest.param(
        broken(raw=b"<html>"),
        "http call failed: failed to decode response: invalid character '<' looking for beginning "
        "of value",
        id="no JSON",
    ),
    pytest.param(
        broken(raw=b"[]"),
        "http call failed: failed to decode response: json: cannot unmarshal array into a "
        "value of type object",
        id="no object",
    ),
    pytest.param(
        broken(raw=b'{"status":"Success","retryAfterSeconds":"5"}'),
        "http call failed: failed to decode response: json: cannot unmarshal string into field "
        "retryAfterSeconds of type int32",
        id="another type",
    ),
    pytest.param(
        broken(raw=b'{"status":"Success","retryAfterSeconds":2147483648}'),
        "http call failed: failed to decode response: json: cannot unmarshal number 2147483648 "
        "into field retryAfterSeconds of type int32",
        id="longer than there is time",
    ),
]


@pytest.mark.parametrize(("extension", "said"), BAD)
async def test_bad_answers_fail_or_are_ignored(extension: Extension, said: str) -> None:
    plane = Plane(ext=extension)
    assert await plane.failure() == FAILED + said
    plane.register("ext", policy="Ignore")
    assert await plane.create() == RetryResponse()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            {"status": "Failure", "message": "never"},
            "got failure response with message: never",
        ),
        (
            {"status": "Maybe", "message": "?"},
            'got unknown response status "Maybe" with message: ?',
        ),
        ({"status": ""}, 'got unknown response status "" with message: '),
    ],
)
async def test_failures_in_a_response_are_never_ignored(answer: Document, said: str) -> None:
    plane = Plane(ext=quota(**answer))
    plane.register("ext", policy="Ignore")
    assert await plane.failure() == FAILED + said


async def test_unknown_fields_and_another_kind_do_no_harm() -> None:
    plane = Plane(ext=quota(kind="Foo", apiVersion="v9", later={"than": "us"}, message=None))
    assert await plane.create() == RetryResponse()


async def test_a_handler_has_its_requested_timeout() -> None:
    plane = Plane(ext=broken(delay=100.0))
    plane.register("ext", seconds=3)
    began = asyncio.get_running_loop().time()
    assert "no answer within 3s" in await plane.failure()
    assert asyncio.get_running_loop().time() - began == pytest.approx(3)


async def test_a_dead_extension_is_left_alone_and_others_are_not() -> None:
    dead, well = broken(down="EOF"), quota()
    plane = Plane(ext=dead, well=well)
    plane.register("ext", namespaceSelector={"matchLabels": {"grows": "grass"}})
    for _ in range(FAILURE_THRESHOLD + 5):
        assert "EOF" in await plane.failure()
    assert len(dead.asked) == FAILURE_THRESHOLD
    await plane.caller.call(BEFORE_CLUSTER_CREATE, "quota.well", HERD, REQUEST)
    dead.down = ""
    await asyncio.sleep(2)
    assert plane.woken == [HERD.key]
    assert await plane.create() == RetryResponse()
    plane.register("ext", settings={"a": "new"})  # another config: nothing is held against it
    assert await plane.create() == RetryResponse()


HOOKS_THAT_MAY_BE_IGNORED = [
    (BEFORE_CLUSTER_CREATE, {"status": "Failure", "message": "no room"}),
    (VALIDATE_TOPOLOGY, {"status": "Failure", "message": "no room"}),
    (GENERATE_PATCHES, {"items": [{"uid": "1", "patchType": "JSONPatch", "patch": "W10="}]}),
]


@pytest.mark.parametrize(
    ("hook", "answer"), HOOKS_THAT_MAY_BE_IGNORED, ids=lambda value: getattr(value, "name", "")
)
async def test_an_ignorable_extension_is_always_called(hook: AnyHook, answer: Document) -> None:
    """An extension that was away for long, and is there again: nothing goes past it."""
    away = Extension(quota=(hook.name, answer))
    away.down = "EOF"
    plane = Plane(ext=away)
    plane.register("ext", policy="Ignore")

    async def said() -> Response | str:
        try:
            result = await plane.caller.call(hook, "quota.ext", HERD, {"items": []})
        except HookError as error:
            return str(error)
        assert isinstance(result, Response)
        return result

    for _ in range(FAILURE_THRESHOLD + 5):
        assert await said() == hook.response()
    assert len(away.asked) == FAILURE_THRESHOLD + 5
    away.down = ""
    assert await said() != hook.response()


async def test_a_call_that_waits_too_long_for_its_turn_is_not_ignored() -> None:
    """The extension is slow and there: it may refuse who did not come to ask it."""
    slow = broken(delay=8.0)
    plane = Plane(ext=slow)
    plane.register("ext", policy="Ignore")
    calls = (plane.create() for _ in range(3 * MAX_CONCURRENT_CALLS))
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert len(slow.asked) == 2 * MAX_CONCURRENT_CALLS
    no_turn = [str(item) for item in results if isinstance(item, HookError)]
    assert len(no_turn) == MAX_CONCURRENT_CALLS
    assert all("no turn within 10s: others wait for its answers" in text for text in no_turn)


async def test_clusters_that_wait_for_an_extension_are_requeued_one_after_the_other() -> None:
    """A thousand Clusters, and an extension that is away for ten minutes."""
    away = broken(down="EOF")
    plane = Plane(ext=away)
    done: set[Key] = set()

    async def look(key: Key) -> None:
        subject = Subject("Cluster", key)
        try:
            await plane.caller.call(BEFORE_CLUSTER_CREATE, "quota.ext", subject, REQUEST)
        except HookError as error:
            if "left alone" not in str(error):  # then a controller tries again soon
                await asyncio.sleep(0.01)
                await look(key)
        else:
            done.add(key)

    async with asyncio.TaskGroup() as group:

        def wake(key: Key) -> None:
            group.create_task(look(key))

        plane.caller.subscribe("Cluster", wake)
        for number in range(1000):
            group.create_task(look(Key("meadow", f"herd-{number}")))
        await asyncio.sleep(600)
        request = len(away.asked)
        assert not done
        assert request < 600 / 30 * 2 + 50  # rarely, while nobody answers
        away.down, back = "", asyncio.get_running_loop().time()
        while len(done) < 1000:
            await asyncio.sleep(1)
            assert asyncio.get_running_loop().time() - back < 60
    times = [entry.at for entry in away.asked[request:]]
    assert len(times) == 1000
    assert away.most_at_a_time <= MAX_CONCURRENT_CALLS
    assert max(sum(at <= time < at + 1 for time in times) for at in times) < 150


async def test_concurrent_calls_of_an_extension_are_limited() -> None:
    slow = broken(delay=0.5)
    plane = Plane(ext=slow)
    async with asyncio.TaskGroup() as group:
        for _ in range(5 * MAX_CONCURRENT_CALLS):
            group.create_task(plane.create())
    assert slow.most_at_a_time == MAX_CONCURRENT_CALLS
    assert len(slow.asked) == 5 * MAX_CONCURRENT_CALLS


async def test_variables_are_asked_for_again_when_the_request_or_the_config_changes() -> None:
    listing = Extension(vars=("DiscoverVariables", {"variables": []}))
    plane = Plane(ext=listing)

    async def discover(**request: Any) -> int:
        await plane.caller.call(DISCOVER_VARIABLES, "vars.ext", HERD, request, keep=True)
        return len(listing.asked)

    assert [await discover(), await discover()] == [1, 1]
    assert await discover(settings={"a": "b"}) == 2
    plane.register("ext", settings={"a": "new"})
    assert [await discover(), await discover()] == [3, 3]
    await asyncio.sleep(601)
    assert await discover() == 4


async def test_a_revision_changes_with_the_extension_config() -> None:
    plane = Plane(ext=Extension(patch=("GeneratePatches", {"items": []})))
    before = [plane.caller.revision("patch.ext"), plane.caller.revision("patch.ext")]
    plane.register("ext", settings={"a": "new"})
    after = plane.caller.revision("patch.ext")
    assert before[0] == before[1]
    assert len({before[0], after, plane.caller.revision("patch.other")}) == 3
    assert plane.caller.revision("patch.other") == ""


async def test_invalid_handler_names_are_refused() -> None:
    plane = Plane(ext=quota())
    for name, message in (
        ("quota.other", 'handler with name "quota.other" has not been registered'),
        ("quota.ext", "handler does not match GroupHook"),
    ):
        with pytest.raises(HookError, match=message):
            await plane.caller.call(GENERATE_PATCHES, name, HERD, {"items": []})


class NewerRequest(BeforeClusterCreateRequest, kw_only=True):
    """With a field that the older version knows nothing of."""

    reason: str = "unknown"


def newer(older: Hook[Any, Any]) -> Hook[NewerRequest, RetryResponse]:
    """A hook's next version."""
    conversion = Conversion[Any, Any](
        older=older,
        request_down=lambda value: BeforeClusterCreateRequest(cluster=value.cluster),
        request_up=lambda value: NewerRequest(cluster=value.cluster),
        response_up=lambda value: replace(value, message=f"{value.message} (an older one says)"),
        response_down=lambda value: value,
    )
    return Hook(
        older.name, NewerRequest, RetryResponse, "", "", version="v1alpha2", conversion=conversion
    )


async def test_an_extension_of_an_older_version_gets_requests_of_that_version() -> None:
    hook, ext = newer(BEFORE_CLUSTER_CREATE), quota(**waits(5, "birds"))
    request = NewerRequest(cluster={"metadata": {"name": "herd"}}, reason="spring")
    answer = await Plane(hook, ext=ext).caller.call_all(hook, HERD, request)
    assert answer == RetryResponse.wait(5, "birds (an older one says)")
    (entries,) = ext.asked
    assert (entries.request["apiVersion"], entries.request.get("reason")) == (VERSION, None)
    assert entries.request["cluster"] == request.cluster


async def test_calls_are_counted_and_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    spans, plane = spans_told(monkeypatch), Plane(ext=quota())
    await plane.create()
    plane.extensions["ext"].down = "EOF"
    await plane.failure()
    messages = [(span.name, dict(span.attributes or {})) for span in spans.get_finished_spans()]
    assert [
        (
            name,
            entries["url.full"],
            entries["http.response.status_code"],
            entries["kapy.hook.status"],
        )
        for name, entries in messages
    ] == [
        ("hook BeforeClusterCreate", URL, "200", "Success"),
        ("hook BeforeClusterCreate", URL, "<error>", "Unknown"),
    ]
    counts = {
        tuple(sample.labels[name] for name in ("version", "code", "status")): sample.value
        for family in plane.caller.metrics.collect()
        for sample in family.samples
        if sample.name == "capi_runtime_sdk_requests_total"
    }
    assert counts == {
        ("v1alpha1", "200", "Success"): 1,
        ("v1alpha1", "<error>", "Unknown"): 1,
    }
