"""Spans reach OpenTelemetry where it is at work, and cost nobody anything elsewhere."""

from __future__ import annotations

import subprocess
import sys

import pytest
from opentelemetry import trace

from kapy._aio.tracing import propagation_headers, span
from tests.spans import spans_told


def test_spans_nest_and_record_failures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = spans_told(monkeypatch)
    headers: dict[str, str] = {}

    def look_at() -> None:
        with span("look", {"key": "default/herd"}):
            with span("hook", {}, kind="client") as inner:
                inner.set_attribute("http.response.status_code", 200)
                headers.update(propagation_headers())
            raise ValueError("no room")

    with pytest.raises(ValueError, match="no room"):
        look_at()
    hook, look = result.get_finished_spans()
    assert hook.context is not None
    assert look.context is not None
    assert hook.parent is not None
    assert hook.parent.span_id == look.context.span_id
    assert (hook.kind, dict(hook.attributes or {})) == (
        trace.SpanKind.CLIENT,
        {"http.response.status_code": 200},
    )
    assert (look.name, look.status.status_code) == ("look", trace.StatusCode.ERROR)
    ids = f"{hook.context.trace_id:032x}-{hook.context.span_id:016x}"
    assert headers["traceparent"].startswith(f"00-{ids}-")


def test_without_opentelemetry_nothing_is_reported_nor_imported() -> None:
    program = """
import sys
from kapy._aio.tracing import propagation_headers, span
with span("look", {"a": 1}) as told:
    told.set_attribute("b", 2)
    assert propagation_headers() == {}
assert not [name for name in sys.modules if name.startswith("opentelemetry")]
"""
    subprocess.run([sys.executable, "-c", program], check=True)
