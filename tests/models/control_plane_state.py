"""The state of the model of a control plane."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Phase: TypeAlias = Literal["starting", "running", "deleting", "hooked", "going"]
Member: TypeAlias = Literal["none", "joining", "learner", "voter", "removed"]


class Node(NamedTuple):
    """One Machine and its machine. known: its Node is known to kapy. up: it runs. sick: a health
    check found it unhealthy. hook: kapy delays its shutdown. remediates: it replaces a broken one.
    """

    phase: Phase = "starting"
    known: bool = False
    member: Member = "none"
    up: bool = True
    sick: bool = False
    hook: bool = True
    outdated: bool = False
    remediates: bool = False

    def __repr__(self) -> str:
        flags = [name for name in ("known", "sick", "outdated") if getattr(self, name)]
        flags += [] if self.up else ["down"]
        flags += [] if self.hook else ["released"]
        return f"{self.phase}/{self.member}{''.join(f' {flag}' for flag in flags)}"


class State(NamedTuple):
    """nodes: the Machines, oldest first. strays: members whose machine is gone. remediating: the
    control plane has the mark of a remediation. wrong: a promise that the last step broke."""

    nodes: tuple[Node, ...]
    strays: tuple[Member, ...] = ()
    remediating: bool = False
    failures: int = 0
    deletions: int = 0
    wrong: str = ""

    def with_node(self, number: int, node: Node) -> State:
        """The state with another state of one Machine."""
        return self._replace(nodes=(*self.nodes[:number], node, *self.nodes[number + 1 :]))

    def __repr__(self) -> str:
        strays = f" strays {','.join(self.strays)}" if self.strays else ""
        return f"[{'; '.join(map(repr, self.nodes))}]{strays}{' remediating' * self.remediating}"


def listed(state: State) -> list[Member]:
    """The members that etcd lists."""
    own = [node.member for node in state.nodes if node.member not in ("none", "removed")]
    return [*own, *state.strays]


def has_quorum(state: State) -> bool:
    """Whether a majority of the voting members runs."""
    voters = sum(item == "voter" for item in listed(state))
    running = sum(node.member == "voter" and node.up for node in state.nodes)
    return not voters or running > voters // 2
