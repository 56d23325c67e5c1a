"""Tests of the audit events of requests, from receipt to completion."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kapy._aio.clock import loop_clock
from kapy.apiserver.audit.auditor import Auditor
from kapy.apiserver.audit.log import LogQueue
from kapy.apiserver.audit.policy import EVERYTHING, Policy, parse_policy
from kapy.apiserver.server import Server
from kapy.kube import Document
from kapy.kube.http import Request, User
from tests.apiserver.network_client import Calls
from tests.apiserver.requester import CONFIG_MAPS, config_map

SECRETS = "/api/v1/namespaces/default/secrets"
ALL = parse_policy(
    {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitManagedFields": True,
        "rules": [
            {"level": "None", "verbs": ["list"]},
            {"level": "Metadata", "resources": [{"resources": ["secrets"]}]},
            {"level": "RequestResponse"},
        ],
    }
)


class Book:
    """The recorded audit log of a server, and the clients of the server."""

    def __init__(self, server: Server, policy: Policy) -> None:
        self.server = server
        self.lines: list[bytes] = []
        counts = server.context.metrics.audit
        self.log = LogQueue(self.lines.extend, lost=counts.count_lost)
        rng, clock = server.context.rng, server.context.clock
        server.audit = Auditor(policy, self.log, clock=clock, counts=counts, rng=rng)
        self.calls = Calls(server)
        self.call = self.calls.call

    def events(self) -> list[Document]:
        """Return the events since the last call."""
        self.log.close()
        lines = self.lines.copy()
        self.lines.clear()
        return [json.loads(line) for line in lines]


@asynccontextmanager
async def audited(policy: Policy = ALL) -> AsyncIterator[Book]:
    server = Server.open(None, clock=loop_clock())
    async with asyncio.TaskGroup() as group:
        running = group.create_task(server.run())
        await asyncio.sleep(0)
        yield Book(server, policy)
        running.cancel()
    server.close()


async def test_a_write_is_logged_with_user_object_time_and_reason() -> None:
    async with audited() as book:
        answer = await book.call(
            "POST",
            f"{CONFIG_MAPS}?fieldManager=me",
            config_map("a"),
            user_agent="kubectl/v1",
            audit_id="my-id",
            x_forwarded_for="198.51.100.1, 198.51.100.2",
        )
        assert answer.headers["audit-id"] == "my-id"
        received, complete = book.events()
        assert received["stage"] == "RequestReceived"
        assert received["stageTimestamp"] == received["requestReceivedTimestamp"]
        assert "responseStatus" not in received
        response = complete.pop("responseObject")
        assert (response["kind"], response["metadata"]["name"]) == ("ConfigMap", "a")
        assert "managedFields" not in response["metadata"]
        assert complete == {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": "RequestResponse",
            "auditID": "my-id",
            "stage": "ResponseComplete",
            "requestURI": f"{CONFIG_MAPS}?fieldManager=me",
            "verb": "create",
            "user": {"username": "root", "groups": ["system:masters", "system:authenticated"]},
            "sourceIPs": ["198.51.100.1", "198.51.100.2", "192.0.2.7"],
            "userAgent": "kubectl/v1",
            "objectRef": {
                "resource": "configmaps",
                "namespace": "default",
                "name": "a",
                "apiVersion": "v1",
            },
            "responseStatus": {"metadata": {}, "code": 201},
            "requestObject": config_map("a"),
            "requestReceivedTimestamp": "2026-01-01T00:00:00.000000Z",
            "stageTimestamp": "2026-01-01T00:00:00.000000Z",
            "annotations": {
                "authorization.k8s.io/decision": "allow",
                "authorization.k8s.io/reason": "",
            },
        }


def secret(name: str) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "stringData": {"key": "hidden"},
    }


@pytest.mark.parametrize("policy", [ALL, EVERYTHING], ids=["metadata", "without a policy"])
async def test_the_content_of_a_secret_is_not_logged(policy: Policy) -> None:
    async with audited(policy) as book:
        await book.call("POST", SECRETS, secret("a"))
        await book.call("GET", f"{SECRETS}/a")
        patch, media = {"stringData": {"key": "hidden"}}, "application/merge-patch+json"
        await book.call("PATCH", f"{SECRETS}/a", patch, content_type=media)
        events = book.events()
        assert [event["verb"] for event in events if event["stage"] == "ResponseComplete"] == [
            *("create", "get", "patch"),
        ]
        assert "hidden" not in json.dumps(events)
        assert not any("requestObject" in event or "responseObject" in event for event in events)


@pytest.mark.parametrize(
    ("media", "body", "expected"),
    [
        ("application/merge-patch+json", b'{"data":{"a":"b"}}', {"data": {"a": "b"}}),
        ("application/json-patch+json", b"[]", []),
        (
            "application/apply-patch+yaml",
            b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
            config_map("a"),
        ),
        ("application/merge-patch+json", b"{", None),
    ],
)
async def test_a_patch_is_reported_as_it_was_sent(media: str, body: bytes, expected: Any) -> None:
    async with audited() as book:
        target = f"{CONFIG_MAPS}/a?fieldManager=me&force=true"
        await book.call("PATCH", target, body, content_type=media)
        assert book.events()[-1].get("requestObject") == expected


async def test_a_watch_is_reported_when_it_begins_and_when_it_ends() -> None:
    async with audited() as book:
        await book.call("GET", f"{CONFIG_MAPS}?watch=true&timeoutSeconds=7")
        events = book.events()
        assert [event["stage"] for event in events] == [
            *("RequestReceived", "ResponseStarted", "ResponseComplete"),
        ]
        assert [event["stageTimestamp"][17:19] for event in events] == ["00", "00", "07"]
        assert {event["verb"] for event in events} == {"watch"}


async def test_a_refused_request_is_logged_with_its_reason() -> None:
    async with audited() as book:
        await book.call("GET", f"{SECRETS}/a", token="ann")
        _, event = book.events()
        assert event["responseStatus"]["code"] == 403
        assert event["responseStatus"]["reason"] == "Forbidden"
        assert event["annotations"]["authorization.k8s.io/decision"] == "forbid"


async def test_a_wrong_token_is_logged_as_a_failure_without_the_token() -> None:
    async with audited() as book:
        answer = await book.call("GET", f"{SECRETS}/a", token="wrong")
        (event,) = book.events()
        assert (answer.status, event["stage"], event["user"]) == (401, "ResponseStarted", {})
        assert event["responseStatus"]["code"] == 401
        assert "wrong" not in json.dumps(event)


async def test_the_requester_and_the_impersonated_user_are_recorded() -> None:
    async with audited() as book:
        await book.call("GET", "/api/v1/namespaces/default", impersonate_user="ann")
        event = book.events()[-1]
        assert event["user"]["username"] == "root"
        assert event["impersonatedUser"]["username"] == "ann"
        assert event["responseStatus"]["code"] == 403


async def test_requests_at_level_none_are_only_counted() -> None:
    async with audited() as book:
        await book.call("GET", CONFIG_MAPS)
        await book.call("GET", f"{CONFIG_MAPS}/a")
        assert len(book.events()) == 2
        counts = book.server.context.metrics.audit
        assert dict(counts.levels) == {"None": 1, "RequestResponse": 1}
        assert (counts.events, counts.lost) == (2, 0)


async def test_requests_in_process_are_audited() -> None:
    async with audited() as book:
        transport = book.server.transport(User("controller", ("system:masters",)))
        await transport(Request("POST", CONFIG_MAPS, {"dryRun": "All"}, {}, config_map("a")))
        event = book.events()[-1]
        assert event["user"]["username"] == "controller"
        assert event["requestURI"] == f"{CONFIG_MAPS}?dryRun=All"
        assert "sourceIPs" not in event


async def test_an_unexpected_exception_is_logged_as_panic(monkeypatch: pytest.MonkeyPatch) -> None:
    async with audited() as book:
        monkeypatch.setattr(book.server, "metrics", lambda: 1 / 0)
        assert (await book.call("GET", "/metrics")).status == 500
        assert book.events()[-1]["stage"] == "Panic"
