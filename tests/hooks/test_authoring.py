"""Writing an extension: handlers, discovery, the ASGI application, and the kit that tests them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from kapy.hooks import (
    BEFORE_CLUSTER_CREATE,
    BEFORE_CLUSTER_UPGRADE,
    DISCOVERY,
    Application,
    BeforeClusterCreateRequest,
    BeforeClusterUpgradeRequest,
    Extension,
    HookFailed,
    RetryResponse,
)
from kapy.hooks.extension import MAX_BODY
from kapy.testing.extension import ask, check_deterministic, read_request, sample_request

PATH = BEFORE_CLUSTER_UPGRADE.path("freeze-window")


@pytest.fixture
def extension() -> Extension:
    extension = Extension()

    @extension.handles(BEFORE_CLUSTER_UPGRADE, name="freeze-window", timeout_seconds=5)
    async def freeze_window(request: BeforeClusterUpgradeRequest) -> RetryResponse:
        match request.to_kubernetes_version:
            case "v1.33.0":
                return RetryResponse.wait(600, "change freeze")
            case "v1.99.0":
                raise HookFailed("v1.99.0 is not approved")
            case "boom":
                raise ZeroDivisionError("a secret")
            case "exit":
                sys.exit("a secret")
            case "nothing":
                return cast(RetryResponse, None)
        return RetryResponse(message=request.settings.get("greeting", ""))

    return extension


def upgrade_to(version: str, **settings: str) -> BeforeClusterUpgradeRequest:
    return BeforeClusterUpgradeRequest(
        cluster={},
        from_kubernetes_version="v1.32.0",
        to_kubernetes_version=version,
        settings=settings,
    )


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        pytest.param("v1.32.1", ("Success", "hello", 0), id="proceed"),
        pytest.param("v1.33.0", ("Success", "change freeze", 600), id="hold"),
        pytest.param("v1.99.0", ("Failure", "v1.99.0 is not approved", 0), id="refuse"),
        pytest.param(
            "boom",
            ("Failure", "internal error: see the log of the extension", 0),
            id="a bug in the handler tells no detail",
        ),
        pytest.param(
            "exit",
            ("Failure", "internal error: see the log of the extension", 0),
            id="nor does it end the server",
        ),
        pytest.param(
            "nothing",
            ("Failure", "internal error: see the log of the extension", 0),
            id="an answer of another hook, or none, is a bug",
        ),
    ],
)
async def test_handlers_return_responses(
    extension: Extension, to: str, expected: tuple[str, str, int]
) -> None:
    request = upgrade_to(to, greeting="hello")
    retry_response = await ask(extension, BEFORE_CLUSTER_UPGRADE, request, "freeze-window")
    assert (
        retry_response.status,
        retry_response.message,
        retry_response.retry_after_seconds,
    ) == expected


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b'{"cluster": {}}', "fromKubernetesVersion"),
        (b"no json", "is not JSON"),
        (b" " * (MAX_BODY + 1), "it is larger than"),
    ],
)
async def test_a_malformed_request_is_a_failure_that_says_why(
    extension: Extension, body: bytes, sentence: str
) -> None:
    answer = json.loads(await extension.dispatch(PATH, body) or b"")
    assert answer["status"] == "Failure"
    assert sentence in answer["message"]


async def test_discovery_lists_the_handlers(extension: Extension) -> None:
    answer = json.loads(await extension.dispatch(DISCOVERY.path(), b"{}") or b"")
    assert answer["handlers"] == [
        {
            "name": "freeze-window",
            "requestHook": {
                "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1",
                "hook": "BeforeClusterUpgrade",
            },
            "timeoutSeconds": 5,
            "failurePolicy": "Fail",
        }
    ]


async def wrong_request(request: RetryResponse) -> RetryResponse:
    return request


async def upgrading(request: BeforeClusterUpgradeRequest) -> RetryResponse:
    return RetryResponse()


async def creating(request: BeforeClusterCreateRequest) -> RetryResponse:
    return RetryResponse()


def test_a_handler_of_the_wrong_shape_does_not_type_check() -> None:
    # The ignore below is itself the test: mypy fails on it if it becomes unused.
    Extension().handles(BEFORE_CLUSTER_UPGRADE, name="wrong")(wrong_request)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "more", "sentence"),
    [
        ("freeze-window", {}, "already registered"),
        ("Upper", {}, "handler name Upper is not valid"),
        ("late", {"timeout_seconds": 31}, "must be between 0 and 30"),
        ("odd", {"failure_policy": "Retry"}, "failurePolicy Retry must equal"),
    ],
)
def test_handlers_that_discovery_would_refuse_are_refused_at_once(
    extension: Extension, name: str, more: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        extension.handles(BEFORE_CLUSTER_UPGRADE, name=name, **more)(upgrading)


def test_handler_names_are_unique_across_hooks(extension: Extension) -> None:
    with pytest.raises(ValueError, match="of another hook"):
        extension.handles(BEFORE_CLUSTER_CREATE, name="freeze-window")(creating)


async def test_a_handler_with_varying_responses_is_reported(tmp_path: Path) -> None:
    extension = Extension()
    counted = iter(range(9))

    @extension.handles(BEFORE_CLUSTER_CREATE, name="counting")
    async def counting(request: BeforeClusterCreateRequest) -> RetryResponse:
        return RetryResponse.wait(1 + next(counted), "wait")

    @extension.handles(BEFORE_CLUSTER_UPGRADE, name="steady")
    async def steady(request: BeforeClusterUpgradeRequest) -> RetryResponse:
        return RetryResponse(message=request.to_kubernetes_version)

    with pytest.raises(AssertionError, match="in two ways"):
        await check_deterministic(
            extension, BEFORE_CLUSTER_CREATE, sample_request(BEFORE_CLUSTER_CREATE), "counting"
        )
    file = tmp_path / "request.json"
    file.write_bytes(BEFORE_CLUSTER_UPGRADE.encode_request(upgrade_to("v1.33.0")))
    request = read_request(BEFORE_CLUSTER_UPGRADE, file)
    await check_deterministic(extension, BEFORE_CLUSTER_UPGRADE, request, "steady")
    with pytest.raises(ValueError, match=r"there are: counting \(BeforeClusterCreate\), steady"):
        await ask(extension, BEFORE_CLUSTER_UPGRADE, request, "missing")


async def called(
    application: Any, method: str, path: str, *parts: bytes, root: str = ""
) -> tuple[int, bytes]:
    """The answer of an ASGI application to a request whose body comes in parts."""
    events: Iterator[dict[str, Any]] = iter(
        {"type": "http.request", "body": part, "more_body": number < len(parts)}
        for number, part in enumerate(parts or (b"",), 1)
    )
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return next(events)

    async def send(event: dict[str, Any]) -> None:
        sent.append(event)

    scope = {"type": "http", "method": method, "path": root + path, "root_path": root}
    await application(scope, receive, send)
    return sent[0]["status"], b"".join(document["body"] for document in sent[1:])


async def test_the_application_answers_hooks_wherever_it_is_mounted(extension: Extension) -> None:
    body = BEFORE_CLUSTER_UPGRADE.encode_request(upgrade_to("v1.33.0"))
    for root in ("", "/extensions/freeze"):
        status, answer = await called(
            Application(extension), "POST", PATH, body[:10], body[10:], root=root
        )
        assert (status, json.loads(answer)["message"]) == (200, "change freeze")


async def test_a_body_without_end_is_not_read_to_its_end(extension: Extension) -> None:
    parts = [b" " * (1 << 20)] * 30
    status, answer = await called(Application(extension), "POST", PATH, *parts)
    assert (status, json.loads(answer)["status"]) == (200, "Failure")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/healthz", 200),
        ("GET", "/readyz", 200),
        ("GET", "/nowhere", 404),
        ("POST", "/nowhere", 404),
        ("PUT", PATH, 405),
    ],
)
async def test_unknown_paths_and_methods_are_refused(
    extension: Extension, method: str, path: str, status: int
) -> None:
    assert (await called(Application(extension), method, path))[0] == status


async def test_a_stopping_extension_is_not_ready(extension: Extension) -> None:
    application = Application(extension)
    application.ready = False
    assert (await called(application, "GET", "/readyz"))[0] == 503


async def test_answers_are_counted_by_version(extension: Extension) -> None:
    application = Application(extension)
    for version in ("v1.32.1", "v1.99.0", "v1.99.0"):
        body = BEFORE_CLUSTER_UPGRADE.encode_request(upgrade_to(version))
        await called(application, "POST", PATH, body)
    _, text = await called(application, "GET", "/metrics")
    labels = 'handler="freeze-window",hook="BeforeClusterUpgrade"'
    for status, count in (("Success", 1), ("Failure", 2)):
        line = f'kapy_extension_requests_total{{{labels},status="{status}",version="v1alpha1"}}'
        assert f"{line} {count}.0" in text.decode()
    assert f'_seconds_count{{{labels},version="v1alpha1"}} 3.0' in text.decode()
