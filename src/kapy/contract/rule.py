"""Rules of a contract about fields: each stands once, beside the field that core reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

Types: TypeAlias = Mapping[str, str]
"""Types as OpenAPI calls them, by paths; `[]` is an item of a list."""


class Level(Enum):
    """The level of a requirement, the strongest first."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


@dataclass(frozen=True)
class FieldRule:
    """A rule that some fields of a view declare.

    name: its id within the contract document. section: heading there. says: the rule in kapy's
    words; `{field}` stands for the path, in both contracts. when: the precondition on the provider.
    shown: the rule applies only to CRDs that have this field; "" means always. any_of: one of the
    fields is sufficient, in any contract.
    """

    name: str
    section: str
    says: str
    level: Level = Level.MUST
    when: str = ""
    shown: str = ""
    any_of: bool = False
