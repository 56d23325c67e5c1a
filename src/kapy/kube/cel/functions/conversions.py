"""Type conversions: `int('5')`, `string(1.5)`, `dyn(x)`, `type(x)`."""

from __future__ import annotations

import math
import re
from typing import Any, Final

from kapy.kube.cel.errors import EvaluationError
from kapy.kube.cel.functions import times
from kapy.kube.cel.overloads import Function
from kapy.kube.cel.values import Timestamp, UInt, type_name
from kapy.kube.digits import parse_integer

_TRUE: Final = ("1", "t", "T", "TRUE", "true", "True")
_FALSE: Final = ("0", "f", "F", "FALSE", "false", "False")


def _int(value: float) -> int:
    if isinstance(value, float) and not math.isfinite(value):
        raise EvaluationError("integer overflow")
    result = int(value)
    if not -(2**63) <= result < 2**63:
        raise EvaluationError("integer overflow")
    return result


def _uint(value: float) -> UInt:
    if isinstance(value, float) and not math.isfinite(value):
        raise EvaluationError("unsigned integer overflow")
    if value < 0 or int(value) >= 2**64:
        raise EvaluationError("unsigned integer overflow")
    return UInt(value)


def _whole(text: str) -> int:
    if not re.fullmatch(r"[+-]?\d+", text, re.ASCII):
        raise EvaluationError(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return parse_integer(text)


def _double(text: str) -> float:
    try:
        return float(text.replace("_", "x"))
    except ValueError:
        reason = f'strconv.ParseFloat: parsing "{text}": invalid syntax'
        raise EvaluationError(reason) from None


def _bool(text: str) -> bool:
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise EvaluationError(f'strconv.ParseBool: parsing "{text}": invalid syntax')


def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def double_text(value: float) -> str:
    """Return a double as Go's `%g` prints it, with the fewest digits that identify it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    digits, _, exponent = f"{value!r}".lower().partition("e")
    if not exponent and (value == 0 or 1e-4 <= abs(value) < 1e21):
        return digits.removesuffix(".0")
    if exponent and 0 < int(exponent) < 21:
        return str(int(value))
    if not exponent:
        digits, _, exponent = f"{value:.16e}".partition("e")
        digits = digits.rstrip("0")
    return f"{digits.removesuffix('.0').rstrip('.')}e{int(exponent):+03d}"


def _same(value: Any) -> Any:
    return value


FUNCTIONS: Final[dict[str, Function]] = {
    "dyn(A) -> dyn": _same,
    "type(A) -> type": type_name,
    "int(int) -> int": _same,
    "int(uint) -> int": _int,
    "int(double) -> int": _int,
    "int(string) -> int": lambda text: _int(_whole(text)),
    "int(timestamp) -> int": lambda value: int(value) // 10**9,
    "int(duration) -> int": int,
    "uint(uint) -> uint": _same,
    "uint(int) -> uint": _uint,
    "uint(double) -> uint": _uint,
    "uint(string) -> uint": lambda text: _uint(_whole(text)),
    "double(double) -> double": _same,
    "double(int) -> double": float,
    "double(uint) -> double": float,
    "double(string) -> double": _double,
    "bool(bool) -> bool": _same,
    "bool(string) -> bool": _bool,
    "bytes(bytes) -> bytes": _same,
    "bytes(string) -> bytes": lambda text: text.encode(),
    "string(string) -> string": _same,
    "string(bool) -> string": lambda value: "true" if value else "false",
    "string(int) -> string": str,
    "string(uint) -> string": lambda value: str(int(value)),
    "string(double) -> string": double_text,
    "string(bytes) -> string": _decode,
    "string(timestamp) -> string": times.timestamp_text,
    "string(duration) -> string": times.duration_text,
    "timestamp(string) -> timestamp": times.timestamp,
    "timestamp(timestamp) -> timestamp": _same,
    "timestamp(int) -> timestamp": lambda seconds: Timestamp(seconds * 10**9),
    "duration(string) -> duration": times.duration,
    "duration(duration) -> duration": _same,
}
