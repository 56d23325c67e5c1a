"""Query parameters, parsed like Go's conversion of `url.Values`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from kapy.apiserver.errors import invalid_integer
from kapy.kube.errors import BadRequest
from kapy.kube.field_errors import FieldError, not_supported
from kapy.kube.go_literals import go_quoted

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,400}")
_MOST: Final = 1 << 63


def bool_parameter(query: Mapping[str, str], name: str) -> bool:
    """Report whether a boolean parameter is set: to any value, even "", except `0` and `false`."""
    value = query.get(name)
    return value is not None and value != "0" and value.lower() != "false"


def check_timeout(text: str) -> None:
    """Check that the request's timeout is a Go duration. Raises BadRequest."""
    if text and not _DURATION.fullmatch(text):
        missing = _UNITLESS.match(text)
        why = f"missing unit in duration {go_quoted(text)}" if missing else ""
        if missing and missing[1]:
            why = f"unknown unit {go_quoted(missing[1])} in duration {go_quoted(text)}"
        why = why or f"invalid duration {go_quoted(text)}"
        raise BadRequest(f"invalid timeout specified in the request URL - time: {why}")


_UNIT: Final = "(?:ns|us|µs|μs|ms|s|m|h)"
_AMOUNT: Final = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_DURATION: Final = re.compile(f"[+-]?(?:0|(?:{_AMOUNT}{_UNIT})+)")
_UNITLESS: Final = re.compile(f"[+-]?(?:{_AMOUNT}{_UNIT})*{_AMOUNT}([^0-9.]*)")


def dry_run_values(query: Mapping[str, str]) -> list[str]:
    """Return the values of `dryRun`."""
    value = query.get("dryRun")
    return [] if value is None else value.split("\n")


def dry_run_error(values: Sequence[str]) -> FieldError | None:
    """Return the error of the values of `dryRun`, which may only be All."""
    if all(item == "All" for item in values):
        return None
    return not_supported("dryRun", list(values), ["All"])


def int_parameter(query: Mapping[str, str], name: str) -> int | None:
    """Return a 64-bit integer parameter, None if it is absent. Raises BadRequest."""
    text = query.get(name)
    if text is None:
        return None
    if not _INTEGER.fullmatch(text):
        raise invalid_integer(text)
    number = int(text)
    if not -_MOST <= number < _MOST:
        raise invalid_integer(text, "value out of range")
    return number
