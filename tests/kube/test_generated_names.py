"""Names that a retry computes again."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from kapy.kube.generated_names import ALPHABET, generated_name, suffix


@given(st.text(), st.integers())
def test_a_slot_has_one_suffix(owner: str, attempt: int) -> None:
    assert suffix(owner, attempt) == suffix(owner, attempt)
    assert re.fullmatch(f"[{ALPHABET}]{{5}}", suffix(owner, attempt))


def test_slots_have_different_suffixes() -> None:
    assert len({suffix("uid", attempt) for attempt in range(1000)}) == 1000
    assert suffix("a", "bc") != suffix("ab", "c")


def test_generated_names_fit_the_length_limit() -> None:
    assert generated_name("short-", "uid").startswith("short-")
    assert len(generated_name("x" * 100, "uid")) == 63
