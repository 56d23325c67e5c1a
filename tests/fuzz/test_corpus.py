"""The kept inputs of all searches, and what every harness promises.

A finding that is mended stays in the corpus: the input that found it is replayed here.
"""

from __future__ import annotations

import pytest

from tests.fuzz.corpus import FOLDER, kept
from tests.fuzz.every import HARNESSES
from tests.fuzz.harness import Harness, TooMuchOutput, TooMuchWork, check, check_work


@pytest.mark.parametrize("name", HARNESSES)
def test_every_kept_input_is_read_or_refused(name: str) -> None:
    harness = HARNESSES[name]
    for data in dict.fromkeys((*harness.seeds, *kept(name))):
        check_work(harness, data)


def test_every_corpus_has_its_harness() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} <= set(HARNESSES)


@pytest.mark.parametrize("name", HARNESSES)
def test_every_harness_reads_one_of_its_seeds(name: str) -> None:
    """A harness that refuses all that it is given tests nothing."""
    harness, reads = HARNESSES[name], 0
    for data in harness.seeds:
        try:
            harness.run(data)
        except harness.contract:
            continue
        reads += 1
    assert reads


def _fails(_: bytes) -> None:
    raise KeyError("not in the contract")


def _works(data: bytes) -> None:
    for _ in range(10**7):
        len(data)


def test_the_checks_find_their_faults() -> None:
    with pytest.raises(KeyError):
        check(Harness("x", _fails, (ValueError,)), b"")
    check(Harness("x", _fails, (KeyError,)), b"")
    with pytest.raises(TooMuchWork):
        check_work(Harness("x", _works), b"")
    with pytest.raises(TooMuchOutput):
        check(Harness("x", lambda data: bytes(65 << 20)), b"")
