"""Trace spans: recorded by OpenTelemetry if it is configured, ignored otherwise."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from importlib import import_module
from types import TracebackType
from typing import Any, Final, Literal, Protocol, Self, TypeAlias

Value: TypeAlias = str | int | float | bool
Kind: TypeAlias = Literal["internal", "client", "server"]
_NAME: Final = "kapy"


class Span(Protocol):
    """The span of a traced block, for its attributes."""

    def set_attribute(self, key: str, value: Value) -> None:
        """Set an attribute of the span."""


class _NoSpan:
    """The span that is used while tracing is off: it records nothing."""

    __slots__ = ()

    def set_attribute(self, key: str, value: Value) -> None:
        """Ignore the attribute, since tracing is off."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None


_NO_SPAN: Final = _NoSpan()


def is_on() -> bool:
    """Return whether OpenTelemetry is imported; only then spans are recorded."""
    return "opentelemetry.trace" in sys.modules


def span(
    name: str, attributes: Mapping[str, Value], *, kind: Kind = "internal", trace: str | None = None
) -> AbstractContextManager[Span]:
    """Open a span around a block; spans that are opened within the block are its children.

    trace: the trace ID (32 hexadecimal digits) of the span, for a trace without a recorded root
    span; "" starts a new trace. By default the span belongs to the current trace.
    """
    api: Any = sys.modules.get("opentelemetry.trace")
    if api is None:
        return _NO_SPAN
    begun: AbstractContextManager[Span] = api.get_tracer(_NAME).start_as_current_span(
        name,
        kind=api.SpanKind[kind.upper()],
        attributes=attributes,
        context=None if trace is None else _parent_context(api, trace),
    )
    return begun


def _parent_context(api: Any, trace: str) -> Any:
    """Return a context with a remote parent span that is derived from the trace ID and never
    recorded, so all spans of the trace have the same parent."""
    if not trace:
        return import_module("opentelemetry.context").Context()
    number = int(trace, 16)
    context = api.SpanContext(
        trace_id=number,
        span_id=number & 0xFFFFFFFFFFFFFFFF,
        is_remote=True,
        trace_flags=api.TraceFlags(api.TraceFlags.SAMPLED),
    )
    return api.set_span_in_context(api.NonRecordingSpan(context))


def current_trace_id() -> str:
    """Return the ID of the current trace, "" for none."""
    api: Any = sys.modules.get("opentelemetry.trace")
    if api is None:
        return ""
    context = api.get_current_span().get_span_context()
    return f"{context.trace_id:032x}" if context.is_valid else ""


def propagation_headers() -> dict[str, str]:
    """Return headers that propagate the span to another program; none while tracing is off."""
    headers: dict[str, str] = {}
    if is_on():
        import_module("opentelemetry.propagate").inject(headers)
    return headers
