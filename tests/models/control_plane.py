"""A model of a kubeadm control plane with etcd: kapy's own steps, and everything that may happen.

A state has the Machines from the oldest to the newest, and the etcd members whose machine is gone.
Each reconcile runs the steps of `KubeadmLoop` that decide about members and Machines, on what a
reconcile would see of that state. Its first effect is applied, as the manager may crash after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple

from tests.models.control_plane_reconcile import Effect, reconcile
from tests.models.control_plane_state import Member, Node, State, has_quorum, listed
from tests.models.explorer import Model


class Case(NamedTuple):
    """begin, end: replicas. outdated: all Machines are replaced. failures: machines that may fail.
    deletions: Machines that a user may delete."""

    begin: int
    end: int
    outdated: bool = False
    failures: int = 0
    deletions: int = 0

    def __str__(self) -> str:
        roll = "roll" if self.outdated else ""
        return f"{self.begin}-{self.end}{roll}!{self.failures}x{self.deletions}"


def model_of(case: Case) -> Model[State]:
    """The model of a control plane that goes from one size to another."""
    old = Node(phase="running", known=True, member="voter", outdated=case.outdated)
    start = State((old,) * case.begin, failures=case.failures, deletions=case.deletions)

    def broken(state: State) -> str:
        if state.wrong:
            return state.wrong
        most = max(case.begin, case.end) + 1
        if len(state.nodes) > most:
            return f"{len(state.nodes)} Machines exist, more than {most}"
        if len(listed(state)) > most + case.failures:
            return f"etcd has {len(listed(state))} members, more than {most}"
        return ""

    def is_goal(state: State) -> bool:
        return _is_lost(state) or (len(state.nodes) == case.end and all(map(_is_done, state.nodes)))

    return Model([start], lambda state: steps(case, state), broken, is_goal)


def _is_done(node: Node) -> bool:
    healthy = node.up and node.known and node.member == "voter"
    return healthy and node.phase == "running" and not node.outdated


def _is_lost(state: State) -> bool:
    """Whether bad luck alone cost the quorum, or every Machine that is to stay."""
    staying = any(node.up and node.phase in ("starting", "running") for node in state.nodes)
    return not has_quorum(state) or not staying


def steps(case: Case, state: State) -> Iterator[tuple[str, State]]:
    """Everything that may happen next."""
    if _is_lost(state):
        return
    effect = _reconciled(state, case.end)
    if effect is not None:
        after = _applied(state, effect)
        yield f"kapy: {effect.text}", after
        if effect.kind == "remediate":
            yield "kapy: remediate, and crash", after._replace(remediating=state.remediating)
    for number, node in enumerate(state.nodes):
        for label, changed in _node_steps(state, node):
            yield f"{number}: {label}", state.with_node(number, changed)
        if node.phase == "going":
            yield f"{number}: the machine is gone", _gone(state, number)
        if state.failures and node.up:
            failed = state.with_node(number, node._replace(up=False))
            yield f"!{number}: the machine fails", failed._replace(failures=state.failures - 1)
        if state.deletions and _may_be_deleted(state, number):
            deleted = state.with_node(number, node._replace(phase="deleting"))
            label = f"!{number}: a user deletes the Machine"
            yield label, deleted._replace(deletions=state.deletions - 1)


def _may_be_deleted(state: State, number: int) -> bool:
    """Whether a sensible user deletes a Machine: another one runs, and is to stay.

    Left out: a Machine without a Node is deleted, and another one is lost. Nobody knows then
    whether the member of the first one runs.
    """
    node = state.nodes[number]
    others = [node for other, node in enumerate(state.nodes) if other != number]
    keeps = any(node.up and node.known and node.phase == "running" for node in others)
    is_known = node.known or (not state.failures and all(node.up for node in state.nodes))
    return keeps and is_known and node.phase in ("starting", "running")


def _node_steps(state: State, node: Node) -> Iterator[tuple[str, Node]]:
    if node.phase == "deleting":
        yield "it is drained", node._replace(phase="hooked")
        if not node.hook:
            yield "it is shut down", node._replace(phase="going")
    if node.phase == "hooked" and not node.hook:
        yield "it is shut down", node._replace(phase="going")
    if not node.up:
        if node.phase in ("starting", "running") and not node.sick:
            yield "the health check finds it unhealthy", node._replace(sick=True)
        return
    if node.phase in ("starting", "running") and not node.known and node.member != "none":
        yield "its Node is known", node._replace(known=True)
    following: dict[Member, Member] = {"none": "joining", "joining": "learner", "learner": "voter"}
    if node.member in following and node.phase == "starting" and has_quorum(state):
        member = following[node.member]
        phase: Literal["starting", "running"] = "running" if member == "voter" else "starting"
        yield f"its etcd member: {member}", node._replace(member=member, phase=phase)


def _gone(state: State, number: int) -> State:
    """A machine is gone; a member that is still listed stays, and runs nowhere."""
    node = state.nodes[number]
    nodes = state.nodes[:number] + state.nodes[number + 1 :]
    after = state._replace(nodes=nodes)
    if node.member in ("joining", "learner", "voter"):
        after = after._replace(strays=tuple(sorted((*state.strays, node.member))))
    if has_quorum(state) and not has_quorum(after) and nodes:
        return after._replace(wrong="etcd lost its quorum as a machine went")
    return after


@cache
def _reconciled(state: State, desired: int) -> Effect | None:
    return reconcile(state, desired)


def _applied(state: State, effect: Effect) -> State:
    match effect.kind:
        case "create":
            node = Node(remediates=state.remediating)
            return state._replace(nodes=(*state.nodes, node), remediating=False)
        case "delete" | "remediate":
            node = state.nodes[effect.number]
            after = state.with_node(effect.number, node._replace(phase="deleting"))
            return after._replace(remediating=effect.kind == "remediate" or state.remediating)
        case "release":
            node = state.nodes[effect.number]
            return state.with_node(effect.number, node._replace(hook=False))
        case "unmark":
            return state._replace(remediating=False)
        case _:
            return _without_member(state, effect.number)


def _without_member(state: State, number: int) -> State:
    """Remove a member: of a Machine, or a stray one (numbered after the Machines)."""
    count = len(state.nodes)
    if number < count:
        node = state.nodes[number]
        after = state.with_node(number, node._replace(member="removed"))
        if node.phase in ("starting", "running") and node.up:
            return after._replace(wrong="kapy removed the member of a Machine that is to stay")
        if node.phase == "deleting":
            return after._replace(wrong="kapy removed a member before its Node was drained")
    else:
        strays = list(state.strays)
        del strays[number - count]
        after = state._replace(strays=tuple(strays))
    if not has_quorum(after):
        return after._replace(wrong="etcd lost its quorum as kapy removed a member")
    return after
