"""The line that each request over the network leaves in the log."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from kapy._aio.clock import loop_clock
from kapy.apiserver.server import Server
from kapy.apiserver.serving import request_log
from kapy.cli.log_lines import Json
from kapy.kube.http import Arrival, Request, User
from tests.apiserver.network_client import Calls

NAME = "kapy.apiserver.requests"


def fields(caplog: pytest.LogCaptureFixture) -> list[tuple[str, dict[str, Any]]]:
    """Level and fields of each line."""
    return [
        (record.levelname, record.__dict__["fields"])
        for record in caplog.records
        if record.name == NAME
    ]


async def test_a_line_has_user_resource_and_duration(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, NAME)
    calls = Calls(Server.open(None, clock=loop_clock()))
    await calls.call("GET", "/version?timeout=5s", user_agent="kubectl/v1", audit_id="i" * 80)
    await calls.call("GET", "/version", token="wrong")
    (level, first), (_, second) = fields(caplog)
    assert (level, first.pop("latency").endswith("ms")) == ("INFO", True)
    assert first == {
        "verb": "GET",
        "URI": "/version?timeout=5s",
        "userAgent": "kubectl/v1",
        "user": "root",
        "audit-ID": "i" * 64,
        "srcIP": "192.0.2.7",
        "resp": 200,
    }
    assert (second["user"], second["resp"]) == ("", 401)


def request(uri: str) -> Request:
    return Request("GET", uri, user=User("ann"), arrival=Arrival("id", uri, "192.0.2.7"))


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("/api?access_token=abc&x=1", "/api?access_token=***&x=1"),
        ("/api?x=1&Password=a%20b", "/api?x=1&Password=***"),
        ("/api?client_secret=a", "/api?client_secret=***"),
        ("/api?fieldSelector=metadata.name%3Dtoken", "/api?fieldSelector=metadata.name%3Dtoken"),
    ],
)
def test_secrets_in_a_query_are_not_logged(
    uri: str, shown: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, NAME)
    request_log.log_request(request(uri), 200, 0.0)
    assert fields(caplog)[0][1]["URI"] == shown
    assert "abc" not in caplog.text


@pytest.mark.parametrize(
    ("seconds", "stream", "level"),
    [(0.5, False, "INFO"), (1.5, False, "WARNING"), (90.0, True, "INFO")],
)
def test_slow_requests_are_logged_as_warnings(
    seconds: float, stream: bool, level: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, NAME)
    request_log.log_request(request("/api"), 200, seconds, stream=stream)
    assert [text for text, _ in fields(caplog)] == [level]


def test_a_line_is_json_on_request(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, NAME)
    request_log.log_request(request('/api?x="\n'), 200, 0.0)
    line = Json().format(caplog.records[0])
    assert "\n" not in line
    document = json.loads(line)
    assert (document["level"], document["logger"], document["URI"]) == ("info", NAME, '/api?x="\n')


def test_a_long_uri_takes_no_longer_than_its_length() -> None:
    assert request_log.redact_uri("/a" + "?token" * 100_000) == "/a" + "?token" * 100_000
    assert request_log.redact_uri("/a?b=1&my_Token=x&c=2") == "/a?b=1&my_Token=***&c=2"
    assert request_log.redact_uri("/a") == "/a"
