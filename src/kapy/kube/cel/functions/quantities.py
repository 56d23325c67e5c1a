"""CEL functions of Kubernetes' quantity library."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from kapy.kube import quantity
from kapy.kube.cel.errors import EvaluationError
from kapy.kube.cel.overloads import Function
from kapy.kube.cel.values import Quantity


def _quantity(text: str) -> Quantity:
    try:
        return Quantity(quantity.parse(text))
    except quantity.InvalidQuantity as error:
        raise EvaluationError(str(error)) from None


def _is_quantity(text: str) -> bool:
    try:
        _quantity(text)
    except EvaluationError:
        return False
    return True


def _is_integer(quantity: Quantity) -> bool:
    return (
        quantity.amount == quantity.amount.to_integral_value()
        and -(2**63) <= quantity.amount < 2**63
    )


def _as_integer(quantity: Quantity) -> int:
    if not _is_integer(quantity):
        raise EvaluationError("cannot convert value to integer")
    return int(quantity.amount)


def _compare(left: Quantity, right: Quantity) -> int:
    return (left.amount > right.amount) - (left.amount < right.amount)


def _sign(quantity: Quantity) -> int:
    return (quantity.amount > 0) - (quantity.amount < 0)


def _plus(left: Quantity, right: Quantity | int) -> Quantity:
    return Quantity(left.amount + (Decimal(right) if isinstance(right, int) else right.amount))


def _minus(left: Quantity, right: Quantity | int) -> Quantity:
    return Quantity(left.amount - (Decimal(right) if isinstance(right, int) else right.amount))


_KIND: Final = "kubernetes.Quantity"

FUNCTIONS: Final[dict[str, Function]] = {
    "isQuantity(string) -> bool": _is_quantity,
    f"quantity(string) -> {_KIND}": _quantity,
    f"{_KIND} :: isInteger() -> bool": _is_integer,
    f"{_KIND} :: asInteger() -> int": _as_integer,
    f"{_KIND} :: asApproximateFloat() -> double": lambda value: float(value.amount),
    f"{_KIND} :: sign() -> int": _sign,
    f"{_KIND} :: add({_KIND}) -> {_KIND}": _plus,
    f"{_KIND} :: add(int) -> {_KIND}": _plus,
    f"{_KIND} :: sub({_KIND}) -> {_KIND}": _minus,
    f"{_KIND} :: sub(int) -> {_KIND}": _minus,
    f"{_KIND} :: compareTo({_KIND}) -> int": _compare,
    f"{_KIND} :: isGreaterThan({_KIND}) -> bool": lambda value, two: value.amount > two.amount,
    f"{_KIND} :: isLessThan({_KIND}) -> bool": lambda value, two: value.amount < two.amount,
}
