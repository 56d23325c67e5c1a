"""Errors that quote a value of somebody else, which may have any length: their messages do not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kapy.kube.duration import parse
from kapy.kube.errors import MAX_MESSAGE, KapyError, shorten
from kapy.kube.version import InvalidVersion, parse_image_tag, parse_tolerant
from tests.fuzz.every import HARNESSES
from tests.fuzz.harness import Harness, TooMuchOutput, check

LONG = "x" * 20_000
SEEDS = 2
LEAVES = 8


def long_inputs(seed: bytes) -> Iterator[bytes]:
    """A seed with a long value in it, at several places."""
    text, middle = LONG.encode(), len(seed) // 2
    yield seed + text
    yield text + seed
    yield seed[:middle] + text + seed[middle:]
    yield seed + b"9" * 4000
    try:
        places = list(_places(json.loads(seed)))[:LEAVES]
    except ValueError:
        return
    for place in places:
        changed = json.loads(seed)
        *way, last = place
        part: Any = changed
        for name in way:
            part = part[name]
        part[last] = LONG
        yield json.dumps(changed).encode()
        if isinstance(part, dict):
            part[LONG] = part.pop(last)
            yield json.dumps(changed).encode()


def _places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items: Any = ()
    if isinstance(value, (dict, list)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
    for name, item in items:
        yield (*way, name)
        yield from _places(item, (*way, name))


@pytest.mark.parametrize("name", [harness for harness in HARNESSES if harness != "request"])
def test_no_error_quotes_a_value_of_any_length(name: str) -> None:
    harness = HARNESSES[name]
    for seed in harness.seeds[:SEEDS]:
        for data in long_inputs(seed):
            check(harness, data)


@pytest.mark.parametrize("read", [parse_tolerant, parse_image_tag])
@pytest.mark.parametrize("text", [LONG, f"1.{LONG}.0", f"1.2.3-{LONG}_", f"1.2.3+{LONG}_"])
def test_messages_of_version_errors_are_bounded(read: Any, text: str) -> None:
    with pytest.raises(InvalidVersion) as error:
        read(text)
    assert len(str(error.value)) < MAX_MESSAGE + 100


def test_messages_of_duration_errors_are_bounded() -> None:
    with pytest.raises(ValueError, match=r"… \(\d+ characters\) …") as error:
        parse(LONG)
    assert len(str(error.value)) < MAX_MESSAGE + 100


def test_both_ends_of_a_long_message_are_kept() -> None:
    message = f"begin {LONG} end"
    assert str(KapyError("short")) == "short"
    assert str(KapyError(message)) == shorten(message)
    assert shorten(message).startswith("begin x")
    assert shorten(message).endswith("x end")
    assert shorten("y" * MAX_MESSAGE) == "y" * MAX_MESSAGE


def test_the_check_finds_a_long_message() -> None:
    def fails(_: bytes) -> None:
        raise ValueError(LONG)

    with pytest.raises(TooMuchOutput):
        check(Harness("x", fails, (ValueError,)), b"")
