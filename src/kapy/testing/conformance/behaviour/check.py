"""What a check of behaviour is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from kapy.testing.conformance.findings import Finding

if TYPE_CHECKING:
    from kapy.testing.conformance.scene import Scene


Look: TypeAlias = Callable[["Scene"], AsyncIterator[Finding]]
"""Plays core in a namespace of its own, and tells what is wrong.

Raises CannotRun and NotApplicable.
"""


@dataclass(frozen=True)
class Check:
    """A rule's check. look: done once for each kind that has the rule's part.

    stage: when it is done. 0: beside all others; 1: with the provider started anew, limited to one
    namespace and one watch filter; 2: at last, when the provider was stopped. of: the part of the
    kinds that it is about, where that is not the rule's document. makes: the most objects of its
    kind that it makes.
    """

    rule: str
    look: Look
    stage: int = 0
    of: str = ""
    makes: int = 1

    @property
    def role(self) -> str:
        """The part of the kinds that it is about."""
        return self.of or self.rule.partition("/")[0]

    @property
    def name(self) -> str:
        """The rule's name within its document."""
        return self.rule.partition("/")[2]
