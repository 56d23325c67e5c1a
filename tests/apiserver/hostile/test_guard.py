"""Nothing that a client sends is answered with 500, and no audit event is ever lost."""

from __future__ import annotations

import base64
import json
import logging
from typing import Any

import pytest

from kapy.apiserver.audit.policy import parse_policy
from kapy.apiserver.server import Server
from kapy.kube.http import Reply
from tests.apiserver.audit.test_auditing import Book, audited
from tests.apiserver.requester import CONFIG_MAPS, config_map

REQUEST = parse_policy(
    {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "RequestResponse"}]}
)
PODS = "/api/v1/namespaces/default/pods"
PROTOBUF = "application/vnd.kubernetes.protobuf"
ENVELOPE = b"k8s\0\n\x0f\n\x02v1\x12\tConfigMap"
GARBAGE = {
    "a number for a message": ENVELOPE + b"\x12\x02\x08\x05",
    "a text for a number": ENVELOPE + b"\x12\x03\x22\x01x",
    "no envelope": b"k8s\0\x08\x07",
    "field 0": ENVELOPE + b"\x12\x02\0\0",
    "every byte": b"k8s\0" + bytes(range(256)),
    "a time that is none": ENVELOPE + b"\x12\x0e\n\x0c\x42\x0a\x08" + b"\xff" * 7 + b"\x7f\x08",
    "deep JSON within": b"k8s\0\n\x15\n\x07apps/v1\x12\nDaemonSet\x12" + b"\xff" * 4,
}


def deep(levels: int = 100_000) -> bytes:
    return b"[" * levels


async def test_a_token_with_a_nested_header_is_refused() -> None:
    head = base64.urlsafe_b64encode(deep()).decode().rstrip("=")
    async with audited(REQUEST) as book:
        for part in (f"{head}.e30.c2ln", f"e30.{head}.c2ln", f"{head}.{head}.{head}"):
            answer = await book.call("GET", "/version", token=part)
            assert (answer.status, answer.body["reason"]) == (401, "Unauthorized")
            (event,) = book.events()
            assert event["responseStatus"]["code"] == 401


@pytest.mark.parametrize("what", GARBAGE)
async def test_invalid_protobuf_is_a_bad_request_with_an_audit_event(what: str) -> None:
    async with audited(REQUEST) as book:
        answer = await book.call("POST", CONFIG_MAPS, GARBAGE[what], content_type=PROTOBUF)
        assert (answer.status, answer.body["reason"]) == (400, "BadRequest"), answer.body
        assert [event["stage"] for event in book.events()] == [
            "RequestReceived",
            "ResponseComplete",
        ]


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("9" * 2_000_000, "9223372036854775807"),
        ("0" * 2_000_000 + "5m", "5m"),
        (f"0.{'0' * 2_000_000}1", "1n"),
        (f"{'9' * 2_000_000}e-1999998", "100"),
    ],
    ids=["large", "zeros", "small", "moved"],
)
async def test_a_quantity_may_have_two_million_digits(text: str, stored: str) -> None:
    container = {"name": "a", "image": "b", "resources": {"limits": {"cpu": text}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    async with audited(REQUEST) as book:
        answer = await book.call("POST", PODS, {**pod, "spec": {"containers": [container]}})
    assert answer.status == 201, answer.body
    assert answer.body["spec"]["containers"][0]["resources"]["limits"]["cpu"] == stored


async def test_a_quantity_of_foreign_digits_is_invalid() -> None:
    spec = {"containers": [{"name": "a", "image": "b", "resources": {"limits": {"cpu": "٣"}}}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
    async with audited(REQUEST) as book:
        answer = await book.call("POST", PODS, pod)
        assert (answer.status, answer.body["reason"]) == (400, "BadRequest")


async def _broken(*_: Any, **__: Any) -> Reply:
    raise ZeroDivisionError("broken")


def _break_authentication(book: Book, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("kapy.apiserver.auth.authentication.Authenticator.authenticate", _raising)


def _break_routing(book: Book, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("kapy.apiserver.server.server.resolve", _raising)


def _break_impersonation(book: Book, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("kapy.apiserver.serving.asgi.parse_impersonation", _raising)


def _break_server(book: Book, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Server, "__call__", _broken)


def _raising(*_: Any, **__: Any) -> Any:
    raise ZeroDivisionError("broken")


@pytest.mark.parametrize(
    "breaking", [_break_authentication, _break_routing, _break_impersonation, _break_server]
)
async def test_an_unexpected_exception_is_a_500_in_both_logs(
    breaking: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with audited(REQUEST) as book:
        breaking(book, monkeypatch)
        answer = await book.call("GET", CONFIG_MAPS, audit_id="my-id")
        assert (answer.status, answer.body["reason"]) == (500, "InternalError")
        assert "broken" not in answer.body["message"]
        event = book.events()[-1]
        assert (event["stage"], event["responseStatus"]["code"]) == ("Panic", 500)
        assert event["auditID"] == "my-id"
        monkeypatch.undo()
        assert (await book.call("GET", CONFIG_MAPS)).status == 200, "the server lives on"
    (record,) = [item for item in caplog.records if item.levelno >= logging.ERROR]
    assert "my-id" in record.getMessage()
    assert record.exc_info is not None


async def test_an_audit_log_that_breaks_is_a_500_and_not_a_dead_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with audited(REQUEST) as book:
        monkeypatch.setattr("kapy.apiserver.audit.auditor.Auditor.begin", _raising)
        answer = await book.call("GET", CONFIG_MAPS)
        assert (answer.status, answer.body["reason"]) == (500, "InternalError")


async def test_an_answer_that_cannot_be_encoded_is_a_500(monkeypatch: pytest.MonkeyPatch) -> None:
    async def strange(*_: Any) -> Reply:
        return Reply(200, {"a": object()})

    async with audited(REQUEST) as book:
        monkeypatch.setattr(Server, "__call__", strange)
        answer = await book.call("GET", CONFIG_MAPS)
        assert (answer.status, answer.body["reason"]) == (500, "InternalError")
        event = book.events()[-1]
        assert event["stage"] == "ResponseComplete"
        assert "responseObject" not in event


async def test_a_body_that_the_audit_log_cannot_read_costs_no_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with audited(REQUEST) as book:
        monkeypatch.setattr("kapy.apiserver.audit.auditor._body_of", _raising)
        answer = await book.call("POST", CONFIG_MAPS, config_map("a"))
        assert answer.status == 201
        event = book.events()[-1]
        assert (event["stage"], event["responseStatus"]["code"]) == ("ResponseComplete", 201)


async def test_a_client_that_leaves_in_the_middle_of_its_body_is_in_the_audit_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def leave(*_: Any) -> None:
        return None

    async with audited(REQUEST) as book:
        monkeypatch.setattr("kapy.apiserver.serving.asgi_messages.read_body", leave)
        with pytest.raises(ValueError, match="unpack"):  # nothing was answered
            await book.call("POST", CONFIG_MAPS, content_length="100", content_type="x")
        event = book.events()[-1]
        assert event["stage"] == "ResponseComplete"
        assert event["responseStatus"]["message"] == "Connection closed early"


@pytest.mark.parametrize(
    "document",
    [
        {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "[" * 50_000}},
        {
            "managedFields": [
                {
                    "manager": "a",
                    "operation": "Apply",
                    "apiVersion": "v1",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {f"k:{'[' * 50_000}": {}},
                }
            ]
        },
    ],
    ids=["last applied", "managed fields"],
)
async def test_deep_json_within_texts_is_handled(document: Any) -> None:
    """As on a real server, what cannot be read counts as none."""
    apply = "application/apply-patch+yaml"
    async with audited(REQUEST) as book:
        answer = await book.call("POST", CONFIG_MAPS, config_map("a", **document))
        assert answer.status == 201, answer.body
        target = f"{CONFIG_MAPS}/a?fieldManager=kubectl&force=true"
        answer = await book.call("PATCH", target, config_map("a"), content_type=apply)
        assert answer.status == 200, answer.body


async def test_a_docker_configuration_of_many_levels_is_invalid() -> None:
    data = {".dockerconfigjson": base64.b64encode(deep(20_000)).decode()}
    document = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "a"},
        "type": "kubernetes.io/dockerconfigjson",
        "data": data,
    }
    async with audited(REQUEST) as book:
        answer = await book.call("POST", "/api/v1/namespaces/default/secrets", document)
        assert (answer.status, answer.body["reason"]) == (422, "Invalid")
        assert "exceeded max depth" in json.dumps(answer.body)
