"""Resource quantities ("100m", "1Gi", "2e3"): value, comparison, canonical form.

Follows `k8s.io/apimachinery` resource.Quantity: amounts are exact down to 1n (finer ones round
away from zero), and the canonical form keeps the family of suffixes that the text came in.
"""

from __future__ import annotations

import re
from decimal import ROUND_UP, Context, Decimal
from typing import Final

_EXACT: Final = Context(prec=120)
_MAX_VALUE: Final = Decimal((1 << 63) - 1)
"""The limit to which larger amounts are reduced, as in Kubernetes."""

_NANO: Final = Decimal("1e-9")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15}
_DECIMAL_E: Final = {**_DECIMAL, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_FORM: Final = re.compile(
    r"([+-]?)(?=\.?\d)(\d*)(?:\.(\d*))?([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?", re.ASCII
)
_MAX_DIGITS: Final = 19
_FRACTION: Final = 40
"""The most relevant digits after the decimal point: 1n is the ninth, and `Ei` shifts by 19."""
_MAX_EXPONENT_LENGTH: Final = 18


class InvalidQuantity(ValueError):
    """The text is not a quantity; the message is Kubernetes' own."""


def parse(text: str | int | float) -> Decimal:
    """Parse a quantity and return its exact value. Raises InvalidQuantity."""
    return _split(str(text))[0]


def compare(left_text: str, two: str) -> int:
    """Return -1, 0 or 1 if `left_text` is less than, equal to or greater than `two`."""
    left, right = parse(left_text), parse(two)
    return (left > right) - (left < right)


def canonical(text: str | int | float) -> str:
    """Return the form in which Kubernetes stores the amount: no fraction, the largest suffix that
    fits.
    """
    value, suffix = _split(str(text))
    if suffix in _BINARY and abs(value) >= 1024 and value == value.to_integral_value():
        return _with_binary_suffix(value)
    digits, exponent = _thousands(value)
    if suffix[:1] in ("e", "E") and len(suffix) > 1:
        return f"{digits}e{exponent}" if exponent else digits
    return digits + next(name for name, power in _DECIMAL_E.items() if power == exponent)


def _split(text: str) -> tuple[Decimal, str]:
    match = _FORM.fullmatch(text)
    if not match:
        raise InvalidQuantity(
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
    sign, whole, fraction, suffix = match[1], match[2], match[3] or "", match[4] or ""
    if suffix in _BINARY:
        number = _number(whole, fraction, 0)
        value = _EXACT.multiply(number, Decimal(2 ** _BINARY[suffix]))
    elif suffix in _DECIMAL_E:
        value = _number(whole, fraction, _DECIMAL_E[suffix])
    else:
        value = _number(whole, fraction, _exponent(suffix[1:]))
    value = min(_MAX_VALUE, value).quantize(_NANO, rounding=ROUND_UP, context=_EXACT)
    return -value if sign == "-" else value, suffix


def _number(whole: str, fraction: str, power: int) -> Decimal:
    """Return the digits times a power of ten, rounded up at 1n, in linear time.

    Digits below this precision are replaced by a single one, which rounds up.
    """
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return Decimal(0)
    point = len(digits) - len(fraction) + power  # digits before the point
    if point > _MAX_DIGITS:
        return _MAX_VALUE
    digits_before = digits[: max(0, point + _FRACTION)]
    rest = digits[len(digits_before) :].strip("0") and "1"
    return Decimal(f"0.{digits_before}{rest}").scaleb(max(point, -_FRACTION), _EXACT)


def _exponent(text: str) -> int:
    """Parse the exponent of a quantity. Raises InvalidQuantity if it exceeds 64 bits."""
    if len(text.lstrip("+-0")) > _MAX_EXPONENT_LENGTH:
        raise InvalidQuantity("unable to parse quantity's suffix")
    return int(text)


def _with_binary_suffix(value: Decimal) -> str:
    amount = int(value)
    for name, power in reversed(_BINARY.items()):
        if amount % (1 << power) == 0:
            return f"{amount >> power}{name}"
    return str(amount)


def _thousands(value: Decimal) -> tuple[str, int]:
    if value == 0:
        return "0", 0
    exponent = -9
    digits = int(value.scaleb(9, _EXACT))
    while digits % 1000 == 0 and exponent < 18:
        digits //= 1000
        exponent += 3
    return str(digits), exponent
