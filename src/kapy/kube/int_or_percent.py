"""Numbers or percentages: `3` or `"10%"` (Kubernetes' IntOrString)."""

from __future__ import annotations

import re
from typing import Final

from kapy.kube.digits import parse_integer
from kapy.kube.errors import KapyError
from kapy.kube.go_literals import go_quoted

WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]+")


class InvalidIntOrPercent(KapyError):
    """The value is neither a number nor a percentage; validation should have refused it."""


def scaled_value(value: int | str | None, total: int, *, round_up: bool) -> int:
    """Return a number unchanged, or a percentage of `total`. Raises InvalidIntOrPercent."""
    if value is None:
        raise InvalidIntOrPercent("nil value for IntOrString")
    if isinstance(value, int):
        return value
    number = value.removesuffix("%")
    if number == value:
        raise InvalidIntOrPercent(
            "invalid value for IntOrString: invalid type: string is not a percentage"
        )
    if not WHOLE_NUMBER.fullmatch(number):
        raise InvalidIntOrPercent(
            f"invalid value for IntOrString: invalid value {go_quoted(value)}: "
            f"strconv.Atoi: parsing {go_quoted(number)}: invalid syntax"
        )
    hundredths = parse_integer(number) * total
    return -(-hundredths // 100) if round_up else hundredths // 100


def int_value(value: int | str) -> int:
    """Return a number unchanged, or parse a text; 0 if it is invalid (Go's
    `IntOrString.IntValue`).
    """
    if isinstance(value, int):
        return value
    return parse_integer(value) if WHOLE_NUMBER.fullmatch(value) else 0
