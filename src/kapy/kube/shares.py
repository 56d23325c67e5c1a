"""Numbers that may be given as a part of a whole: `3` or `"10%"` (Kubernetes' IntOrString)."""

from __future__ import annotations

import re
from typing import Final

from kapy.kube.digits import whole
from kapy.kube.errors import KapyError

WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]+")


class BadShare(KapyError):
    """A value that is neither a number nor a percentage; admission should have refused it."""


def scaled(value: int | str | None, total: int, *, round_up: bool) -> int:
    """A number as it is, or a percentage of `total`. Raises BadShare."""
    if value is None:
        raise BadShare("nil value for IntOrString")
    if isinstance(value, int):
        return value
    number = value.removesuffix("%")
    if number == value:
        raise BadShare("invalid value for IntOrString: invalid type: string is not a percentage")
    if not WHOLE_NUMBER.fullmatch(number):
        raise BadShare(
            f'invalid value for IntOrString: invalid value "{value}": '
            f'strconv.Atoi: parsing "{number}": invalid syntax'
        )
    hundredths = whole(number) * total
    return -(-hundredths // 100) if round_up else hundredths // 100


def int_value(value: int | str) -> int:
    """A number as it is, or the number that a text is: 0 for a text that is none, as Go's
    `IntOrString.IntValue` has it."""
    if isinstance(value, int):
        return value
    return whole(value) if WHOLE_NUMBER.fullmatch(value) else 0
