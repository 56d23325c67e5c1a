"""The checks that can refuse a move, before it changes anything or because objects keep
changing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from kapy.client.client import Client
from kapy.clusterctl.errors import MoveError
from kapy.clusterctl.inventory import Installed, Inventory
from kapy.clusterctl.move.copying import names_of
from kapy.clusterctl.move.graph import Graph, Node, Ref
from kapy.clusterctl.move.kinds import CLUSTER, CLUSTER_CLASS, MACHINE
from kapy.clusterctl.move.pausing import is_paused
from kapy.clusterctl.move.plan import Plan, Treatment
from kapy.clusterctl.waiting import has_condition
from kapy.kube import Document, Key
from kapy.kube.errors import Forbidden, NotFound
from kapy.kube.names import NAMESPACES
from kapy.kube.version import InvalidVersion, Version, parse_tolerant

_ERROR_PREFIX: Final = "cannot start the move operation while"


async def identity(client: Client) -> str:
    """Return a unique identifier of a cluster; "" if it cannot be read."""
    try:
        result = await client.get(NAMESPACES, Key("", "kube-system"))
    except (NotFound, Forbidden):
        return ""
    return str(result["metadata"]["uid"])


async def check_providers(source: Client, target: Client, besides: Collection[str] = ()) -> None:
    """Raises MoveError unless the target has every provider of the source, at least as new.

    besides: labels of providers that the target does not need.
    """
    there = await Inventory(target).installed()
    wrong = [
        problem
        for provider in await Inventory(source).installed()
        if provider.label not in besides
        for problem in _provider_problems(provider, there)
    ]
    if wrong:
        raise MoveError(
            "failed to check providers in target cluster: "
            + "; ".join(wrong)
            + "; install them there with `init`, or upgrade them with `upgrade apply`"
        )


def check_ready(graph: Graph) -> None:
    """Raises MoveError while objects are still being provisioned."""
    problems = [problem for node in graph.of(CLUSTER) for problem in _cluster_problems(node)]
    problems += [problem for node in graph.of(MACHINE) for problem in _machine_problems(node)]
    if problems:
        raise MoveError(
            f"failed to check for provisioned infrastructure: {_join_problems(problems)}; "
            "`describe cluster` tells what it waits for"
        )


def check_unpaused(graph: Graph, besides: Collection[Ref] = ()) -> None:
    """Raises MoveError if a Cluster or a ClusterClass is paused already.

    besides: those that the move itself has paused.
    """
    for kind, many in ((CLUSTER, "Clusters"), (CLUSTER_CLASS, "ClusterClasses")):
        paused = [
            str(node.ref.key)
            for node in graph.of(kind)
            if node.document and is_paused(node.document) and node.ref not in besides
        ]
        if paused:
            raise MoveError(
                f"cannot start operation while the following {many} are paused: "
                f"{', '.join(sorted(paused))}; resume them, or go on with the move that paused "
                "them (--resume, --rollback)"
            )


def check_undeleted(plan: Plan) -> None:
    """Raises MoveError while an object that would be moved is being deleted."""
    deleted = [
        planned.ref
        for planned in plan.of(Treatment.MOVED)
        if planned.document["metadata"].get("deletionTimestamp")
    ]
    if deleted:
        raise MoveError(
            f"{_ERROR_PREFIX} {names_of(deleted)} is being deleted: the target "
            "would have it again; wait until it is gone"
        )


def still_changing_error(refs: Iterable[Ref]) -> MoveError:
    """Return the error for objects that change although they are paused."""
    return MoveError(
        f"{names_of(refs)} goes on changing in the source although the Clusters are paused: a "
        "controller there does not care; stop it, then go on with --resume, or undo the move with "
        "--rollback"
    )


def _provider_problems(provider: Installed, installed: Iterable[Installed]) -> Iterator[str]:
    same = [
        _version(other)
        for other in installed
        if (other.name, other.type) == (provider.name, provider.type)
    ]
    if not same:
        yield f"provider {provider.name} not found in the target cluster"
    elif max(same) < _version(provider):
        yield (
            f"provider {provider.name} in the target cluster is older than in the source cluster "
            f"(source: {_version(provider)}, target: {max(same)})"
        )


def _version(provider: Installed) -> Version:
    try:
        return parse_tolerant(provider.version)
    except InvalidVersion as error:
        raise MoveError(
            f'unable to parse version "{provider.version}" for the {provider.instance} provider: '
            f"{error}; correct its Provider object"
        ) from None


def _cluster_problems(node: Node) -> Iterator[str]:
    document = node.document or {}
    done = (document.get("status") or {}).get("initialization") or {}
    name = f'"{_kind(document)}" {node.ref.key}'
    has_control_plane = bool((document.get("spec") or {}).get("controlPlaneRef"))
    if not done.get("infrastructureProvisioned"):
        yield f"{_ERROR_PREFIX} {name} is still provisioning the infrastructure"
    elif not has_condition(document, "ControlPlaneInitialized") or (
        has_control_plane and not done.get("controlPlaneInitialized")
    ):
        yield f"{_ERROR_PREFIX} the control plane for {name} is not yet initialized"


def _machine_problems(node: Node) -> Iterator[str]:
    document = node.document or {}
    if not ((document.get("status") or {}).get("nodeRef") or {}).get("name"):
        name = f'"{_kind(document)}" {node.ref.key}'
        yield f"{_ERROR_PREFIX} {name} is still provisioning the node"


def _kind(document: Document) -> str:
    group, _, version = document["apiVersion"].rpartition("/")
    return f"{group}/{version}, Kind={document['kind']}"


def _join_problems(problems: list[str]) -> str:
    """Join messages in the format of Go's error aggregates."""
    return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
