"""What becomes of the machines of one object."""

from __future__ import annotations

from dataclasses import dataclass, field

from kapy.apps.plan.snapshot import Name
from kapy.kube import Document


@dataclass(frozen=True, slots=True)
class Replaced:
    """A Machine that goes, and why another one takes its place."""

    name: str
    because: tuple[str, ...]


@dataclass(slots=True)
class Rollout:
    """What becomes of the machines of one object.

    creates: how many Machines are made. goes: those that go without one in their place. steps: in
    words, in order. waits: OnDelete: somebody has to delete the old Machines. by_provider: another
    provider decides. in_place: handlers of extensions that may have Machines updated instead.
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
        """Whether machines come, go or are changed."""
        return bool(self.steps or self.goes or self.by_provider or self.waits)


@dataclass(slots=True)
class Outcome:
    """A rollout, and what is there when it is over. Objects that are gone go first.

    told: those of them that are told as deleted, beyond the Machines and what is made for these.
    """

    rollout: Rollout
    written: list[Document] = field(default_factory=list)
    gone: list[Document] = field(default_factory=list)
    told: list[Document] = field(default_factory=list)


def machines(number: int) -> str:
    """A number of Machines, in words."""
    return "a Machine" if number == 1 else f"{number} Machines"
