"""Go's durations as text."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapy.kube import duration


@pytest.mark.parametrize(
    ("text", "seconds", "printed"),
    [
        ("0", 0, "0s"),
        ("1h30m", 5400, "1h30m0s"),
        ("1.5h", 5400, "1h30m0s"),
        ("90s", 90, "1m30s"),
        ("1.5s", 1.5, "1.5s"),
        ("100ms", 0.1, "100ms"),
        ("1500us", 0.0015, "1.5ms"),
        ("-2m", -120, "-2m0s"),
        (".5s", 0.5, "500ms"),
        ("7µs", 0.000007, "7µs"),
    ],
)
def test_a_duration_is_read_and_printed_as_go_does(text: str, seconds: float, printed: str) -> None:
    result = duration.parse(text)
    assert result == timedelta(seconds=seconds)
    assert duration.text(result) == printed


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("5m", "5m0s"),
        ("0m5s", "5s"),
        ("10m59s", "10m59s"),
        ("60s", "1m0s"),
        ("0h5m0s", "5m0s"),
        ("1h0m0s", "1h0m0s"),
        ("0.5s", "500ms"),
        ("1m0.5s", "1m0.5s"),
        ("1.50s", "1.5s"),
        ("-0s", "0s"),
        ("-5m", "-5m0s"),
        ("12ns", "12ns"),
        ("1500ns", "1.5µs"),
        ("-84733h26m7.914528341s", "-84733h26m7.914528341s"),
        ("1000ms", "1s"),
    ],
)
def test_a_duration_has_one_canonical_form(text: str, printed: str) -> None:
    assert duration.canonical(text) == printed


@given(st.integers(-(2**63), 2**63 - 1))
def test_the_canonical_form_is_stable(nanoseconds: int) -> None:
    form = duration.canonical(f"{nanoseconds}ns")
    assert duration.canonical(form) == form


@given(st.timedeltas(timedelta(days=-400), timedelta(days=400)))
def test_a_printed_duration_is_parsed_again(length: timedelta) -> None:
    assert duration.parse(duration.text(length)) == length


@pytest.mark.parametrize("text", ["", "1", "1d", "h", "1 h", "1h-2m", "1e3s"])
def test_an_invalid_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f'time: invalid duration "{text}"'):
        duration.parse(text)
    with pytest.raises(ValueError, match=f'time: invalid duration "{text}"'):
        duration.canonical(text)


def test_a_duration_that_go_cannot_hold_is_refused() -> None:
    for read in (duration.canonical, duration.parse):
        with pytest.raises(ValueError, match="invalid duration"):
            read("99999999999h")
