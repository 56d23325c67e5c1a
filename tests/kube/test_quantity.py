"""Quantities: amounts, order, and the form in which Kubernetes stores them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from kapy.kube.quantity import InvalidQuantity, canonical, compare, parse


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("100m", "100m"),
        ("0.1", "100m"),
        ("1000m", "1"),
        ("1500", "1500"),
        ("2000", "2k"),
        ("1Gi", "1Gi"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("1000Ki", "1000Ki"),
        ("0.1Mi", "104857600m"),
        ("512", "512"),
        ("0.5Ki", "512"),
        ("1e3", "1e3"),
        ("12E6", "12e6"),
        ("1E", "1E"),
        ("-5", "-5"),
        ("0", "0"),
        ("0Gi", "0"),
        (".5", "500m"),
        ("1.", "1"),
        ("0.0000000001", "1n"),
    ],
)
def test_an_amount_is_stored_in_canonical_form(text: str, stored: str) -> None:
    assert canonical(text) == stored
    assert parse(stored) == parse(text)


@pytest.mark.parametrize(
    ("first", "two", "order"), [("1Gi", "1024Mi", 0), ("1k", "1Ki", -1), ("1", "999m", 1)]
)
def test_amounts_have_an_order(first: str, two: str, order: int) -> None:
    assert compare(first, two) == order


def test_an_amount_is_exact() -> None:
    assert parse("0.1") + parse("0.2") == Decimal("0.3")


@pytest.mark.parametrize("text", ["", "x", "1x", "1 Gi", "1Gib", "--1", "Ki", "1e"])
def test_an_invalid_quantity_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuantity, match="quantities must match the regular expression"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1" * 2_000_000, "9223372036854775807"),
        ("-" + "1" * 2_000_000 + "Mi", "-9223372036854775807"),
        ("0" * 2_000_000 + "5", "5"),
        ("0." + "1" * 2_000_000, "111111112n"),
        ("1" + "0" * 70 + "e-60", "10e9"),
    ],
    ids=["large", "small", "zeros", "fraction", "exponent"],
)
def test_numbers_of_any_length_are_parsed(text: str, expected: str) -> None:
    assert canonical(text) == expected
