"""Connects to the etcd of a workload cluster through one of its nodes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager

from kapy.kube import Key
from kapy.kube.errors import KapyError
from kapy.providers.kubeadm.controlplane.certificates import cluster_access
from kapy.providers.kubeadm.controlplane.dependencies import Dependencies
from kapy.providers.kubeadm.controlplane.etcd import (
    Etcd,
    EtcdError,
    EtcdGateway,
    EtcdUnreachable,
    Member,
    member_named,
)
from kapy.providers.kubeadm.controlplane.scope import EtcdState


class LeadershipNotMoved(KapyError):
    """The etcd leader could not be moved away from a Machine that is to be deleted."""


class LastMember(KapyError):
    """The last member of an etcd cluster must not be removed."""


async def read_etcd(dependencies: Dependencies, cluster: Key, nodes: Sequence[str]) -> EtcdState:
    """Return the state that etcd reports, or the reason for which it is unknown.

    nodes: those whose members are asked, until one of them answers.
    """
    if not nodes:
        return EtcdState()
    try:
        async with _first_answering(dependencies, cluster, nodes) as (etcd, leader):
            return await _read(etcd, leader)
    except KapyError as error:
        return EtcdState(failure=f"Failed to connect to etcd: {error}")


async def _read(etcd: Etcd, leader: int) -> EtcdState:
    try:
        members = await etcd.members()
    except KapyError as error:
        return EtcdState(failure=f"Failed to get etcd members: {error}", reached=True)
    try:
        alarms = await etcd.alarms()
    except KapyError as error:
        return EtcdState(failure=f"Failed to get etcd alarms: {error}", reached=True)
    result = next((member for member in members if member.id == leader), None)
    if result is None:
        return EtcdState(failure="Failed to get etcd leader", reached=True)
    return EtcdState(members=members, alarms=alarms, leader=result)


async def remove_member(
    dependencies: Dependencies, cluster: Key, member: Member, nodes: Iterable[str]
) -> None:
    """Remove a member from etcd, through any node but its own.

    The caller has checked that the quorum survives. Raises LastMember and etcd's errors.
    """
    others = [name for name in nodes if name != member.name]
    async with _first_answering(dependencies, cluster, others) as (etcd, _):
        members = await etcd.members()
        if all(item.id != member.id for item in members):
            return
        if len(members) == 1:
            raise LastMember("cannot remove the last etcd member in the cluster")
        await etcd.remove_member(member.id)


async def move_leader(dependencies: Dependencies, cluster: Key, away_from: str, to: str) -> None:
    """Move the leadership from one node's member to another's; no effect if it is not the leader.

    Raises LeadershipNotMoved and etcd's errors.
    """
    async with _first_answering(dependencies, cluster, [away_from]) as (etcd, leader):
        members = await etcd.members()
        current, target = member_named(members, away_from), member_named(members, to)
        if current is None or current.id != leader:
            return
        if target is None:
            raise LeadershipNotMoved(f'failed to get etcd member for leader candidate "{to}"')
        await etcd.move_leader(target.id)


@asynccontextmanager
async def _first_answering(
    dependencies: Dependencies, cluster: Key, nodes: Sequence[str]
) -> AsyncIterator[tuple[Etcd, int]]:
    """Connect to the first etcd member that answers; yield it and the leader that it reports.
    Raises EtcdUnreachable."""
    access = await cluster_access(dependencies, cluster)
    failures = []
    for node in nodes:
        try:
            etcd: Etcd = EtcdGateway(dependencies.etcd_dial(cluster, access, node))
        except EtcdUnreachable as error:
            failures.append(str(error))
            continue
        try:
            try:
                leader = await etcd.leader()
            except (EtcdUnreachable, EtcdError) as error:
                failures.append(str(error))
                continue
            yield etcd, leader
            return
        finally:
            await etcd.aclose()
    raise EtcdUnreachable("; ".join(dict.fromkeys(failures)) or "no node is there to be asked")
