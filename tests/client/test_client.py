"""Tests of the requests that the client sends, and of its handling of the responses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, ClassVar

import pytest
from msgspec import field

from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    MethodNotAllowed,
    NotAcceptable,
    NotFound,
    ServerError,
    TooLarge,
    TooManyRequests,
    Unauthorized,
    Unreachable,
    UnsupportedMediaType,
)
from kapy.kube.http import Reply, Request
from kapy.kube.meta import Object, ObjectMeta
from kapy.kube.model import Model
from kapy.kube.names import NODES, SECRETS, Resource

KEY = Key("default", "a")
ADDRESS = "/apis/example.com/v1/namespaces/default/widgets"


class Spec(Model):
    size: int | None = None


class Widget(Object):
    RESOURCE: ClassVar[Resource] = Resource("example.com", "v1", "widgets", "Widget")

    spec: Spec = field(default_factory=Spec)


DOCUMENT: Document = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "a", "namespace": "default", "resourceVersion": "7"},
    "spec": {"size": 3, "unknown": True},
}


class Server:
    """Answers what it is told, one after the other, and notes what it was asked."""

    def __init__(self, *answers: Reply | Exception | Document) -> None:
        self.answers = list(answers)
        self.asked: list[Request] = []

    async def __call__(self, request: Request) -> Reply:
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception) and not isinstance(answer, ApiError):
            raise answer
        if isinstance(answer, ApiError):
            wait = answer.retry_after
            headers = {} if wait is None else {"retry-after": str(wait)}
            return Reply(answer.code, answer.status(), headers)
        return answer if isinstance(answer, Reply) else Reply(200, answer)

    @property
    def calls(self) -> list[tuple[str, str, dict[str, str]]]:
        return [(request.method, request.path, dict(request.query)) for request in self.asked]


def listed(*items: Document, token: str = "") -> Document:
    metadata = {"resourceVersion": "9"} | ({"continue": token} if token else {})
    return {"kind": "WidgetList", "metadata": metadata, "items": list(items)}


async def test_reading_gives_structs_for_kinds_and_documents_for_resources() -> None:
    server = Server(DOCUMENT, DOCUMENT)
    client = Client(server)
    assert (await client.get(Widget, KEY)).spec.size == 3
    assert await client.get(Widget.RESOURCE, KEY) is DOCUMENT
    assert server.calls == [("GET", f"{ADDRESS}/a", {})] * 2


async def test_a_list_has_its_resource_version() -> None:
    server = Server(listed(DOCUMENT), listed())
    client = Client(server)
    widget = await client.list(Widget, "default", labels="a=b", fields="metadata.name=a")
    assert [item.spec.size for item in widget.items] == [3]
    assert widget.resource_version == "9"
    assert (await client.list(NODES)).items == []
    assert server.calls == [
        ("GET", ADDRESS, {"labelSelector": "a=b", "fieldSelector": "metadata.name=a"}),
        ("GET", "/api/v1/nodes", {}),
    ]


async def test_items_of_a_list_get_the_kind_that_kube_apiserver_leaves_out() -> None:
    bare: Document = {"metadata": {"name": "s", "namespace": "default"}}
    secrets = await Client(Server(listed(bare))).list(SECRETS)
    assert secrets.items == [{"apiVersion": "v1", "kind": "Secret", **bare}]
    assert "kind" not in bare


async def test_over_a_network_lists_come_in_pages() -> None:
    server = Server(listed(DOCUMENT, token="t"), listed(DOCUMENT))
    server.over_network = True  # type: ignore[attr-defined]
    resource = await Client(server).list(Widget.RESOURCE, "default")
    assert len(resource.items) == 2
    assert [query for _, _, query in server.calls] == [
        {"limit": "500"},
        {"limit": "500", "continue": "t"},
    ]


async def test_an_expired_page_is_replaced_by_an_unpaged_list() -> None:
    server = Server(listed(DOCUMENT, token="t"), Expired("old"), listed(DOCUMENT, DOCUMENT))
    server.over_network = True  # type: ignore[attr-defined]
    assert len((await Client(server).list(Widget, "default")).items) == 2
    assert server.calls[-1] == ("GET", ADDRESS, {})


async def test_writes_name_their_manager_and_are_reported_to_the_observer() -> None:
    server = Server(*[DOCUMENT] * 6)
    messages: list[tuple[Resource, Document]] = []
    client = Client(
        server,
        field_manager="us",
        observe=lambda resource, document: messages.append((resource, document)),
    )
    mine = Widget(metadata=ObjectMeta(name="a", namespace="default"), spec=Spec(size=1))
    assert (await client.create(mine)).spec.size == 3
    await client.update(mine, subresource="status")
    await client.patch(Widget, KEY, {"spec": {"size": 4}}, subresource="status")
    await client.patch(Widget.RESOURCE, KEY, [{"op": "remove", "path": "/spec"}])
    await client.apply(Widget.RESOURCE, DOCUMENT, field_manager="other")
    await client.create(Widget.RESOURCE, DOCUMENT, dry_run=True)
    assert server.calls == [
        ("POST", ADDRESS, {"fieldManager": "us"}),
        ("PUT", f"{ADDRESS}/a/status", {"fieldManager": "us"}),
        ("PATCH", f"{ADDRESS}/a/status", {"fieldManager": "us"}),
        ("PATCH", f"{ADDRESS}/a", {"fieldManager": "us"}),
        ("PATCH", f"{ADDRESS}/a", {"fieldManager": "other", "force": "true"}),
        ("POST", ADDRESS, {"fieldManager": "us", "dryRun": "All"}),
    ]
    assert [request.headers["content-type"] for request in server.asked] == [
        "application/json",
        "application/json",
        "application/merge-patch+json",
        "application/json-patch+json",
        "application/apply-patch+yaml",
        "application/json",
    ]
    assert server.asked[0].body == {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"size": 1},
    }
    assert messages == [(Widget.RESOURCE, DOCUMENT)] * 5


async def test_a_deletion_sends_preconditions_and_propagation() -> None:
    removals = {"kind": "Status", "status": "Success", "details": {"name": "a", "uid": "u"}}
    server = Server(removals, DOCUMENT)
    messages: list[Document] = []
    client = Client(server, observe=lambda resource, document: messages.append(document))
    await client.delete(Widget, KEY, uid="u", resource_version="7", propagation="Foreground")
    await client.delete(Widget.RESOURCE, KEY)
    assert server.asked[0].body == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "propagationPolicy": "Foreground",
    }
    assert messages[0]["metadata"]["uid"] == "u"
    assert messages[0]["metadata"]["deletionTimestamp"] is not None
    assert messages[1] is DOCUMENT
    assert server.asked[1].body == {"apiVersion": "v1", "kind": "DeleteOptions"}


@pytest.mark.parametrize(
    "error",
    [
        BadRequest("x"),
        Unauthorized("x"),
        Forbidden("x"),
        NotFound("x"),
        MethodNotAllowed("x"),
        NotAcceptable("x"),
        AlreadyExists("x"),
        Conflict("x"),
        Expired("x"),
        TooLarge("x"),
        UnsupportedMediaType("x"),
        Invalid("x", details={"causes": [{"field": "spec"}]}),
        TooManyRequests("x"),
        ServerError("x"),
    ],
)
async def test_a_failure_is_the_exception_of_its_kind(error: ApiError) -> None:
    server = Server(error)
    with pytest.raises(type(error)) as caught:
        await Client(server).get(Widget, KEY)
    assert type(caught.value) is type(error)
    assert caught.value.details == error.details
    assert len(server.asked) == 1


async def test_a_request_without_an_answer_raises_and_is_not_retried() -> None:
    server = Server(Unreachable("refused"))
    with pytest.raises(Unreachable):
        await Client(server).get(Widget, KEY)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("reply", "error", "words"),
    [
        (Reply(404, b"404 page not found\n"), NotFound, "404 page not found"),
        (Reply(502, b"<html>"), ServerError, "<html>"),
        (Reply(503, b""), ServerError, "the server answered 503"),
        (Reply(200, b"not JSON"), ServerError, "not JSON"),
        (Reply(200, b"[1]"), ServerError, "not a JSON object"),
    ],
)
async def test_answers_that_are_no_status_are_errors_too(
    reply: Reply, error: type[ApiError], words: str
) -> None:
    with pytest.raises(error) as caught:
        await Client(Server(reply)).get(Widget, KEY)
    assert words in caught.value.message


def unavailable(retry_after: float | None) -> Reply:
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    return Reply(503, {"kind": "Status", "code": 503, "message": "starting"}, headers)


async def test_requests_that_were_not_executed_are_retried_after_retry_after() -> None:
    busy = TooManyRequests("busy", retry_after=3.0)
    server = Server(busy, busy, DOCUMENT)
    await Client(server).create(Widget.RESOURCE, DOCUMENT)
    assert len(server.asked) == 3
    assert asyncio.get_running_loop().time() == 6.0


async def test_a_read_is_tried_again_when_a_starting_server_reports_it() -> None:
    server = Server(unavailable(1), DOCUMENT)
    await Client(server).get(Widget, KEY)
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    "answer", [unavailable(1), unavailable(None), TooManyRequests("busy"), ServerError("broken")]
)
async def test_a_write_that_may_have_been_executed_is_not_repeated(
    answer: Reply | ApiError,
) -> None:
    server = Server(answer)
    with pytest.raises(ApiError):
        await Client(server).create(Widget.RESOURCE, DOCUMENT)
    assert len(server.asked) == 1


async def test_retries_end() -> None:
    server = Server(*[TooManyRequests("busy", retry_after=1.0)] * 10)
    with pytest.raises(TooManyRequests):
        await Client(server).get(Widget, KEY)
    assert len(server.asked) == 6
    server = Server(TooManyRequests("busy", retry_after=3600.0))
    with pytest.raises(TooManyRequests):
        await Client(server).get(Widget, KEY)
    assert len(server.asked) == 1


async def test_an_eviction_that_is_refused_is_an_answer() -> None:
    server = Server(TooManyRequests("disruption budget", retry_after=10.0))
    with pytest.raises(TooManyRequests):
        await Client(server).raw("POST", "/api/v1/namespaces/x/pods/p/eviction", body={})
    assert len(server.asked) == 1


async def test_a_watch_yields_events_and_is_closed_at_the_end() -> None:
    closed: list[bool] = []

    async def events() -> AsyncIterator[Document]:
        try:
            yield {"type": "ADDED", "object": DOCUMENT}
            yield {"type": "ERROR", "object": Expired("too old").status()}
        finally:
            closed.append(True)

    server = Server(Reply(200, events()), Expired("too old"))
    client = Client(server)
    async with client.watch(Widget.RESOURCE, resource_version="7", labels="a=b") as watch:
        first = await anext(watch)
        assert (first.type, first.document) == ("ADDED", DOCUMENT)
        with pytest.raises(Expired):
            await anext(watch)
    assert closed == [True]
    query = {
        "labelSelector": "a=b",
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "7",
    }
    assert server.calls == [("GET", "/apis/example.com/v1/widgets", query)]
    with pytest.raises(Expired):
        await client.watch(Widget.RESOURCE).__aenter__()


async def test_raw_requests_are_sent_unchanged() -> None:
    server = Server({"major": "1"}, {"kind": "Scale"})
    client = Client(server)
    assert await client.raw("GET", "/version") == {"major": "1"}
    body: Any = {"spec": {"replicas": 3}}
    await client.raw("PUT", f"{ADDRESS}/a/scale", {"dryRun": "All"}, body)
    assert server.calls[1] == ("PUT", f"{ADDRESS}/a/scale", {"dryRun": "All"})
    assert server.asked[1].body == body
