"""The predicted effect of a rollout on the machines of one object."""

from __future__ import annotations

from dataclasses import dataclass, field

from kapy.apps.plan.snapshot import Name
from kapy.kube import Document


@dataclass(frozen=True, slots=True)
class ReplacedMachine:
    """A Machine that is replaced, and the reason."""

    name: str
    reasons: tuple[str, ...]


@dataclass(slots=True)
class Rollout:
    """The predicted rollout of one object.

    creates: the number of new Machines. deletes: Machines that are deleted without a replacement.
    steps: the steps in words, in order. waits_for_user: whether a user must delete the old Machines
    (OnDelete). by_provider: whether another provider decides about the rollout. in_place: extension
    handlers that may update Machines instead.
    """

    name: Name
    replaces: list[ReplacedMachine] = field(default_factory=list)
    creates: int = 0
    deletes: list[str] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    waits_for_user: bool = False
    by_provider: bool = False
    in_place: list[str] = field(default_factory=list)

    @property
    def has_effect(self) -> bool:
        """Whether machines are created, deleted or changed."""
        return bool(self.steps or self.deletes or self.by_provider or self.waits_for_user)


@dataclass(slots=True)
class Outcome:
    """A rollout, and the objects at its end. Deleted objects are removed first.

    listed_deletions: the deleted objects that the plan lists, besides Machines and their
    dependents.
    """

    rollout: Rollout
    updated: list[Document] = field(default_factory=list)
    deleted: list[Document] = field(default_factory=list)
    listed_deletions: list[Document] = field(default_factory=list)


def machine_count(number: int) -> str:
    """Return a number of Machines as text."""
    return "a Machine" if number == 1 else f"{number} Machines"
