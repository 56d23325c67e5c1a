"""Explores all states of a small model, and finds broken promises with the shortest way there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

S = TypeVar("S", bound=Hashable)


@dataclass(frozen=True)
class Model(Generic[S]):
    """A model. steps: what may happen next, each with a label. broken: what is wrong in a state, ""
    for nothing. is_goal: whether the work is done. A step whose label begins with ! is bad luck: no
    way to the goal may need it.
    """

    start: Iterable[S]
    steps: Callable[[S], Iterable[tuple[str, S]]]
    broken: Callable[[S], str]
    is_goal: Callable[[S], bool]


@dataclass(frozen=True)
class Explored(Generic[S]):
    """states: how many there are. problem: the first broken promise with the way there, "" for
    none."""

    states: int
    problem: str = ""


class _Search(Generic[S]):
    def __init__(self, model: Model[S], limit: int) -> None:
        self.model = model
        self.limit = limit
        self.came: dict[S, tuple[str, S | None]] = {}
        self.before: dict[S, list[S]] = {}

    def run(self) -> Explored[S]:
        queue = deque[S]()
        for item in self.model.start:
            self.came[item] = ("start", None)
            queue.append(item)
        while queue:
            state = queue.popleft()
            if problem := self.model.broken(state):
                return Explored(len(self.came), self.way(state, problem))
            for label, following in self.model.steps(state):
                if not label.startswith("!"):
                    self.before.setdefault(following, []).append(state)
                if following not in self.came:
                    self.came[following] = (label, state)
                    queue.append(following)
            assert len(self.came) <= self.limit, "the model is larger than its limit"
        return Explored(len(self.came), self.stuck())

    def stuck(self) -> str:
        """Tell of a state from which the goal cannot be reached."""
        good = {element for element in self.came if self.model.is_goal(element)}
        if not good:
            return "no state is a goal"
        queue = deque(good)
        while queue:
            for item in self.before.get(queue.popleft(), ()):
                if item not in good:
                    good.add(item)
                    queue.append(item)
        for state in self.came:
            if state not in good:
                return self.way(state, "the goal cannot be reached any more")
        return ""

    def way(self, state: S, problem: str) -> str:
        lines = [problem]
        current: S | None = state
        while current is not None:
            label, former = self.came[current]
            lines.append(f"{label:44} {current}")
            current = former
        return "\n".join([lines[0], *reversed(lines[1:])])


def explore(model: Model[S], *, limit: int = 2_000_000) -> Explored[S]:
    """Explore all states: no state may be broken, and the goal can be reached from each of them."""
    return _Search(model, limit).run()
