"""The predicted effect of a rollout on the machines of one object."""

from __future__ import annotations

from dataclasses import dataclass, field

from kapy.apps.plan.snapshot import Name
from kapy.kube import Document


@dataclass(frozen=True, slots=True)
class Replaced:
    """A Machine that is replaced, and the reason."""

    name: str
    because: tuple[str, ...]


@dataclass(slots=True)
class Rollout:
    """The predicted rollout of one object.

    creates: the number of new Machines. goes: Machines that are deleted without a replacement.
    steps: in words, in order. waits: OnDelete: a user must delete the old Machines. by_provider:
    another provider decides. in_place: extension handlers that may update Machines instead.
    """

    of: Name
    replaces: list[Replaced] = field(default_factory=list)
    creates: int = 0
    goes: list[str] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    waits: bool = False
    by_provider: bool = False
    in_place: list[str] = field(default_factory=list)

    @property
    def is_anything(self) -> bool:
        """Whether machines are created, deleted or changed."""
        return bool(self.steps or self.goes or self.by_provider or self.waits)


@dataclass(slots=True)
class Outcome:
    """A rollout, and the objects at its end. Deleted objects are removed first.

    told: the deleted objects that the plan lists, besides Machines and their dependents.
    """

    rollout: Rollout
    written: list[Document] = field(default_factory=list)
    gone: list[Document] = field(default_factory=list)
    told: list[Document] = field(default_factory=list)


def machines(number: int) -> str:
    """A number of Machines as text."""
    return "a Machine" if number == 1 else f"{number} Machines"
