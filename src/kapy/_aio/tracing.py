"""Spans of what is done, told to OpenTelemetry where it is at work, and to nobody elsewhere.

    with span("BeforeClusterCreate", {"server.address": "quota.rules.svc"}, kind="client") as told:
        ...
        told.set_attribute("http.response.status_code", 200)

kapy neither needs OpenTelemetry nor imports it: who wants spans sets a provider up before
(`opentelemetry-instrument kapy up`), and by that it is there. Without it a span costs one look-up.
What a block raises is its span's error. Names and values must hold no secrets.
"""

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
    """What a block can say about itself."""

    def set_attribute(self, key: str, value: Value) -> None:
        """Say one thing more."""


class _Untold:
    """A span that nobody wants to know of."""

    __slots__ = ()

    def set_attribute(self, key: str, value: Value) -> None:
        """Nobody is told."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None


_UNTOLD: Final = _Untold()


def span(
    name: str, attributes: Mapping[str, Value], *, kind: Kind = "internal"
) -> AbstractContextManager[Span]:
    """A span around a block; spans that begin within it are its children."""
    trace: Any = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return _UNTOLD
    begun: AbstractContextManager[Span] = trace.get_tracer(_NAME).start_as_current_span(
        name, kind=trace.SpanKind[kind.upper()], attributes=attributes
    )
    return begun


def carried() -> dict[str, str]:
    """Headers by which another program knows what it works for; none where nobody asks for
    spans."""
    headers: dict[str, str] = {}
    if "opentelemetry.trace" in sys.modules:
        import_module("opentelemetry.propagate").inject(headers)
    return headers
