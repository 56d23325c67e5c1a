"""A harness: one entry function, the errors that are its contract, and inputs to start from."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final

from kapy.kube.errors import MAX_MESSAGE, KapyError

Entry = Callable[[bytes], object]

FREE_CALLS: Final = 200_000
CALLS_PER_BYTE: Final = 2_000
"""Bound of the calls that one input may cause. A call is one of Python's, or one into C. The
number is the same on every machine, which a time is not."""

LARGEST_OUTPUT: Final = 64 << 20
LARGEST_MESSAGE: Final = MAX_MESSAGE + 100


@dataclass(frozen=True)
class Harness:
    """name: as on the command line. run: takes one input; what it asserts are round trips.
    contract: what it may raise. seeds: inputs to start from. words: tokens that mutations use.
    structured: whether inputs are JSON, which is then mutated as a tree."""

    name: str
    run: Entry
    contract: tuple[type[Exception], ...] = (KapyError,)
    seeds: tuple[bytes, ...] = ()
    words: tuple[bytes, ...] = ()
    structured: bool = False


class TooMuchWork(AssertionError):
    """An input caused more calls than its size allows."""


class TooMuchOutput(AssertionError):
    """An input made a text that is larger than any answer may be."""


def check(harness: Harness, data: bytes) -> None:
    """Run one input. Raises what is no part of the contract, and TooMuchOutput."""
    try:
        result = harness.run(data)
    except harness.contract as error:
        if len(str(error)) > LARGEST_MESSAGE:
            raise TooMuchOutput(
                f"{harness.name}: the message of an error has {len(str(error))} characters"
            ) from error
        return
    if isinstance(result, (str, bytes)) and len(result) > LARGEST_OUTPUT:
        raise TooMuchOutput(f"{harness.name}: {len(data)} bytes in, {len(result)} bytes out")


def check_work(harness: Harness, data: bytes) -> int:
    """Run one input with the calls counted; answers their number. Raises TooMuchWork, too."""
    counter = _Counter(FREE_CALLS + CALLS_PER_BYTE * len(data))
    sys.setprofile(counter)
    try:
        check(harness, data)
    except _Stop:
        raise TooMuchWork(
            f"{harness.name}: {len(data)} bytes cause more than {counter.most} calls"
        ) from None
    finally:
        sys.setprofile(None)
    return counter.calls


class _Stop(BaseException):
    """Not an Exception: no parser catches it."""


class _Counter:
    def __init__(self, most: int) -> None:
        self.most = most
        self.calls = 0

    def __call__(self, _frame: FrameType, event: str, _arg: Any) -> None:
        if event in ("call", "c_call"):
            self.calls += 1
            if self.calls > self.most:
                self.most = sys.maxsize  # raised once
                raise _Stop
