"""Conditions are described with their types and important reasons, by the names that exist."""

from __future__ import annotations

import re
from typing import Final

from kapy.api.kinds import KINDS, STORED
from kapy.api.names import ConditionType, Reason
from tests.api.descriptions.fields import ALL

KNOWN: Final = frozenset(
    value
    for names in (ConditionType, Reason)
    for name, value in vars(names).items()
    if name.isupper()
)
OF_CONDITIONS: Final = {
    described.kind: described.text
    for described in ALL
    if described.path == "status.conditions" and described.version == STORED
}
LISTED: Final = re.compile(r"Types are (.+?)[.]")
WORD: Final = re.compile(r"\b[A-Z][A-Za-z]*\b")
NOT_OURS: Final = frozenset(("IPAddressClaim",))
"""Kinds whose conditions others write."""


def types_of(text: str) -> list[str]:
    """The types that a description lists first."""
    match = LISTED.search(text)
    return WORD.findall(match[1]) if match else []


def test_every_kind_with_conditions_lists_its_types() -> None:
    assert {kind for kind, text in OF_CONDITIONS.items() if not types_of(text)} == NOT_OURS
    for kind, text in OF_CONDITIONS.items():
        if kind not in NOT_OURS:
            assert "Paused" in types_of(text), kind


def test_types_and_reasons_exist() -> None:
    unknown = {
        kind: words
        for kind, text in OF_CONDITIONS.items()
        if (words := set(WORD.findall(text)) - KNOWN - SPOKEN - KIND_NAMES)
    }
    assert unknown == {}


KIND_NAMES: Final = frozenset(kind.name for kind in KINDS)
SPOKEN: Final = frozenset(("Types", "Each", "At", "The", "A", "Ready", "IPAM"))
