"""Simulation rules about extensions: a step waits for the hook that blocks it, and each hook is
called.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kapy.testing.simulation.rules.rule import (
    Rule,
    RuleContext,
    Write,
    cluster_name_of,
    is_deleting,
)

_TOPOLOGY: Final = "topology.cluster.x-k8s.io/owned"
_MARK: Final = "in-place-updates.internal.cluster.x-k8s.io/update-in-progress"
_FOLLOWERS: Final = {
    "BeforeClusterUpgrade": "AfterClusterUpgrade",
    "BeforeControlPlaneUpgrade": "AfterControlPlaneUpgrade",
    "BeforeWorkersUpgrade": "AfterWorkersUpgrade",
}


def _unallowed_steps(context: RuleContext, write: Write) -> Iterator[str]:
    """Return violations of the rule that no step is taken before an extension has allowed it."""
    extension = context.world.extension
    if extension is None or extension.asked is None:
        return
    if _TOPOLOGY not in (write.document["metadata"].get("labels") or {}):
        return
    cluster = cluster_name_of(write.document)
    for hook, version in _hooks_before(context, write, cluster):
        if (hook, cluster, version) not in extension.allowed:
            yield f"{write.kind} {write.name} was written before {hook} {version} allowed it"


def _hooks_before(context: RuleContext, write: Write, cluster: str) -> Iterator[tuple[str, str]]:
    """Return the hooks that must have allowed a write, each with its version."""
    if write.kind == "KubeadmControlPlane":
        before = None if write.old is None else write.old["spec"]["version"]
        after = None if write.new is None else write.new["spec"]["version"]
        if write.is_new:
            yield "BeforeClusterCreate", ""
        elif after is not None and after != before:
            yield "BeforeControlPlaneUpgrade", after
    elif write.kind == "MachineDeployment" and write.old is not None and write.new is not None:
        before, after = (
            document["spec"]["template"]["spec"] for document in (write.old, write.new)
        )
        if before.get("version") != after.get("version"):
            yield "BeforeWorkersUpgrade", after["version"]
            yield "AfterControlPlaneUpgrade", after["version"]
    owner = context.view.get("Cluster", cluster)
    is_deleted = owner is not None and is_deleting(owner)
    if is_deleted and write.begins_deletion and write.kind in _DELETED:
        yield "BeforeClusterDelete", ""


_DELETED: Final = ("KubeadmControlPlane", "MachineDeployment", "DevCluster")


def _uncalled_hooks(context: RuleContext) -> Iterator[str]:
    """Return violations of the rule that every hook that follows a step is called by the end."""
    extension = context.world.extension
    if extension is None or extension.asked is None:
        return
    clusters = {cluster["metadata"]["name"]: cluster for cluster in context.view.all("Cluster")}
    for hook, owner, version in sorted(extension.allowed):
        follower = _FOLLOWERS.get(hook)
        if follower and owner in clusters and (follower, owner, version) not in extension.asked:
            yield f"{follower} was not called for Cluster {owner} and {version}"
    for name, cluster in clusters.items():
        initialized = ((cluster.get("status") or {}).get("initialization") or {}).get(
            "controlPlaneInitialized"
        )
        call = ("AfterControlPlaneInitialized", name, "")
        if initialized and cluster["spec"].get("topology") and call not in extension.asked:
            yield f"AfterControlPlaneInitialized was not called for Cluster {name}"


def _updates(context: RuleContext, write: Write) -> Iterator[str]:
    """Return violations of the rule that an in-place update ends only after the extension has
    reported its completion.
    """
    extension, old, new = context.world.extension, write.old, write.new
    if extension is None or write.kind != "Machine" or old is None or new is None:
        return
    was, is_marked = (
        _MARK in (document["metadata"].get("annotations") or {}) for document in (old, new)
    )
    if was and not is_marked and write.name in extension.updating and not is_deleting(new):
        yield f"the update of Machine {write.name} ended while the extension was at work"


HOOK_RULES: Final = (
    Rule("in-place", "An update in place ends when the extension says so.", _updates),
    Rule(
        "hooks",
        "Each step waits for its hook, and each hook is called.",
        _unallowed_steps,
        _uncalled_hooks,
    ),
)
