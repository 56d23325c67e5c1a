"""Inputs that are made here: mutations of seeds and of kept inputs, and Hypothesis's own.

Few by default; `KAPY_FUZZ=100` makes a hundred times as many.
"""

from __future__ import annotations

import os
from zlib import crc32

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from tests.fuzz.corpus import kept
from tests.fuzz.every import HARNESSES
from tests.fuzz.harness import Harness, check
from tests.fuzz.mutation import Mutator, Splicer

TIMES = int(os.environ.get("KAPY_FUZZ", "1"))
MUTATIONS = 40 * TIMES
EXAMPLES = 10 * TIMES
SLOW = ("backup", "bundle", "move-folder", "request")
"""Those whose inputs become files or a server's state."""


def few(name: str, many: int) -> int:
    return many // 4 if name in SLOW else many


def tried(harness: Harness, data: bytes) -> None:
    """Check an input, and say which one it was that failed."""
    try:
        check(harness, data)
    except BaseException as error:
        error.add_note(f"harness {harness.name}, input {data[:2000]!r}")
        raise


@pytest.mark.parametrize("name", HARNESSES)
def test_mutations_are_read_or_refused(name: str) -> None:
    harness = HARNESSES[name]
    inputs = [*harness.seeds, *kept(name)]
    splicer = Splicer(crc32(name.encode()), inputs, harness.words)
    for number in range(few(name, MUTATIONS)):
        data = splicer.made()
        if harness.structured and number % 4:
            content = Mutator(number, harness.words).mutated(inputs[number % len(inputs)])
            data = data if content is None else content
        tried(harness, data)


@pytest.mark.parametrize("name", HARNESSES)
def test_any_bytes_are_read_or_refused(name: str) -> None:
    harness = HARNESSES[name]

    @settings(max_examples=few(name, EXAMPLES), suppress_health_check=list(HealthCheck))
    @given(some.one_of(some.binary(max_size=200), some.text(max_size=60).map(str.encode)))
    def run(data: bytes) -> None:
        tried(harness, data)

    run()
