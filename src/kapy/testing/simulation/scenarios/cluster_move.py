"""The scenario of a cluster that moves to a second management cluster."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

import msgspec

from kapy.clusterctl.errors import MoveError
from kapy.kube import Document
from kapy.testing.simulation.moving import Sides, move
from kapy.testing.simulation.rules.catalogue import Referee
from kapy.testing.simulation.scenarios.manifests import plain_cluster
from kapy.testing.simulation.scenarios.scenario import Scenario, available_with, nothing_is_left
from kapy.testing.simulation.user import NAMESPACE, GoalMissed, User, View
from kapy.testing.simulation.world import World

WORKERS: Final = "meadow-md"
_KINDS: Final = (
    "Cluster",
    "Machine",
    "MachineSet",
    "MachineDeployment",
    "KubeadmControlPlane",
    "KubeadmConfig",
    "DevCluster",
    "DevMachine",
    "Secret",
)
REST: Final = 100.0


async def _plain_1_1(user: User) -> None:
    await user.apply(plain_cluster(control_planes=1, workers=1))
    await user.until("the cluster is available", available_with(1, 1))


async def _move(user: User) -> None:
    """Move a cluster; the target has the same objects and reconciles them, and the source has
    none.
    """
    source = user.world
    source.is_visible = False  # neither the command nor the identities of before the move are
    before = _identities(user.view)
    target = World(source.seed + 1, lambda _, __: None)
    try:
        referee = Referee(target)
        async with target.running():
            sides = Sides(source, target)
            try:
                await move(source, target, NAMESPACE)
            except MoveError as error:
                raise GoalMissed(f"the cluster is moved: {error}") from None
            await user.until("the source has nothing of the cluster", nothing_is_left)
            there = User(target)
            await there.until("the cluster is available in the target", available_with(1, 1))
            await there.sleep(REST)
            after = _identities(there.view)
            source.reports += sides.broken
            source.reports += [
                f"{identity} was lost or replaced by the move" for identity in before - after
            ]
            source.reports += [f"{identity} was created by the move" for identity in after - before]
            source.companions, source.is_visible = [target], not referee.violations
            replicas = {"spec": {"replicas": 2}}
            await there.patch("MachineDeployment", WORKERS, replicas)
            await there.until("there are two workers in the target", available_with(1, 2))
            await there.sleep(REST)
            source.is_visible = False
            referee.finish()
            source.reports += [f"in the target: {violation}" for violation in referee.violations]
    finally:
        target.close()


def _identities(view: View) -> set[str]:
    """Return the names, provider IDs and private keys that must be equal in both management
    clusters.
    """
    return {
        f"{kind} {document['metadata']['name']} {_content(kind, document)}"
        for kind in _KINDS
        for document in view.all(kind)
        if document["metadata"].get("labels") or kind in ("Cluster", "DevCluster")
    }


def _content(kind: str, document: Document) -> str:
    if kind == "Secret":
        content = msgspec.json.encode(document.get("data") or {}, order="sorted")
        return sha256(content).hexdigest()[:12]
    return str((document.get("spec") or {}).get("providerID", ""))


CLUSTER_MOVE: Final = (
    Scenario(
        "move",
        "The cluster moves to a second management cluster.",
        _move,
        _plain_1_1,
        300,
        share=4,
        without=frozenset(("backup-restored",)),
    ),
)
