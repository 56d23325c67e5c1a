"""schemathesis over the server's own OpenAPI: answers are what it says, and never a failure.

Reduced by default; `KAPY_HOSTILE=50` makes fifty times as many cases.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

import requests
from hypothesis import HealthCheck, Phase, given, settings

from kapy.apiserver.auth.authentication import Authenticator, authenticated_user
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application
from tests.apiserver.hostile.test_mutations import ACCIDENTS
from tests.apiserver.requester import running

CASES = int(os.environ.get("KAPY_HOSTILE", "1"))
DESCRIBED = ("api/v1", "apis/apps/v1", "apis/example.dev/v1", "apis/policy/v1")
EXPECTED = {200, 201, 202, 400, 404, 405, 406, 409, 410, 413, 415, 422}
LIMITS = settings(
    max_examples=CASES,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


async def asked(server: Server, case: Any) -> tuple[int, dict[bytes, bytes], bytes]:
    """The answer of the application to a case: status, headers, body."""
    admin = authenticated_user("admin", ("system:masters",))
    application = Application(server, Authenticator({"t": admin}))
    sent = case.as_transport_kwargs(base_url="http://x")
    prepared = requests.Request(**sent).prepare()
    url, body = urlsplit(str(prepared.url)), prepared.body or b""
    headers = {**prepared.headers, "authorization": "Bearer t"}
    messages: list[dict[str, Any]] = []
    bodies: Iterator[dict[str, Any]] = iter(
        [{"type": "http.request", "body": body.encode() if isinstance(body, str) else body}]
    )

    async def receive() -> dict[str, Any]:
        return next(bodies, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        messages.append(message)

    scope: dict[str, Any] = {
        "type": "http",
        "method": prepared.method,
        "path": _settled(unquote(url.path)),
        "raw_path": url.path.encode(),
        "query_string": url.query.encode(),
        "headers": [
            (name.lower().encode(), str(header).encode()) for name, header in headers.items()
        ],
        "client": ("127.0.0.1", 1),
        "state": {},
    }
    await application(scope, receive, send)
    content = b"".join(message.get("body", b"") for message in messages[1:])
    return messages[0]["status"], dict(messages[0]["headers"]), content


def _settled(path: str) -> str:
    """In a namespace that is there: else every case would end with 404."""
    before, text, after = path.partition("/namespaces/")
    inner = after.partition("/")[2]
    return f"{before}{text}default/{inner}" if inner else path


def operations(document: Any) -> Iterator[Any]:
    """The operations in an OpenAPI document."""
    import schemathesis  # which takes its time, in every process that collects tests

    for result in schemathesis.openapi.from_dict(document).get_all_operations():
        operation: Any = result
        yield operation.ok()


def cases(operation: Any) -> list[Any]:
    """Some requests for an operation, the same in every run."""
    results: list[Any] = []

    @given(operation.as_strategy())
    @LIMITS
    def collect(case: Any) -> None:
        results.append(case)

    collect()
    return results


def strange(status: int, headers: dict[bytes, bytes], content: bytes) -> bool:
    """Whether an answer is none that the description allows."""
    kind = headers.get(b"content-type", b"")
    if status == 500:
        return json.loads(content).get("message") not in ACCIDENTS
    if status not in EXPECTED:
        return True
    if kind.startswith(b"text/plain"):
        return status != 404
    body = json.loads(content) if kind == b"application/json" else None
    return status >= 400 and (body is None or body["kind"] != "Status" or body["code"] != status)


async def test_responses_match_the_openapi_document(caplog: Any) -> None:
    async with running() as asking:
        names = json.loads(await asking.get("/openapi/v3"))["paths"]
        chosen = [name for name in names if name in DESCRIBED or CASES > 1]
        # Read at first: among the cases are deletions of all definitions.
        documents = [await asking.get(f"/openapi/v3/{name}") for name in chosen]
        result = []
        for document in documents:
            for operation in operations(document):
                for case in cases(operation):
                    status, headers, content = await asked(asking.server, case)
                    if strange(status, headers, content):
                        result.append((operation.label, case.as_curl_command(), status, content))
        assert result == []
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_every_parameter_of_a_path_is_described() -> None:
    async with running() as asking:
        for name in json.loads(await asking.get("/openapi/v3"))["paths"]:
            for path, described in (await asking.get(f"/openapi/v3/{name}"))["paths"].items():
                parameters = {parameter["name"] for parameter in described["parameters"]}
                named = {part.strip("{}") for part in path.split("/") if part.startswith("{")}
                assert named <= parameters, path
