"""A check of a running provider."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from kapy.testing.conformance.findings import Finding

if TYPE_CHECKING:
    from kapy.testing.conformance.fixture import Fixture


Look: TypeAlias = Callable[["Fixture"], AsyncIterator[Finding]]
"""Stands in for core in a namespace of its own, and yields findings.

Raises CannotRun and NotApplicable.
"""


@dataclass(frozen=True)
class Check:
    """A check of one rule. run: executes it once for each kind that has the rule's role.

    stage: 0: concurrently with all others; 1: after a restart of the provider with one namespace
    and one watch filter; 2: at the end, after the provider was stopped. of: the role of the kinds,
    where it differs from the rule's document. objects_created: the most objects of its kind that it
    creates.
    """

    rule: str
    run: Look
    stage: int = 0
    of: str = ""
    objects_created: int = 1

    @property
    def role(self) -> str:
        """The role of the kinds that the check applies to."""
        return self.of or self.rule.partition("/")[0]

    @property
    def name(self) -> str:
        """The rule's name within its document."""
        return self.rule.partition("/")[2]
