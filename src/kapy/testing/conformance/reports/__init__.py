"""The formats of a conformance report: for people, for programs, for CI and for browsers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from kapy.testing.conformance.findings import Report
from kapy.testing.conformance.reports.html import html
from kapy.testing.conformance.reports.json import json
from kapy.testing.conformance.reports.junit import junit
from kapy.testing.conformance.reports.text import text

FORMATS: Final[Mapping[str, Callable[[Sequence[Report]], str]]] = {
    "text": text,
    "json": json,
    "junit": junit,
    "html": html,
}
