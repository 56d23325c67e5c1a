"""Simulation rules about conditions: each has a reason, and each wait is explained and ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kapy.testing.simulation.rules.rule import Rule, RuleContext, Write, is_deleting
from kapy.testing.simulation.user import condition_of, is_true

_EXPLAINED: Final = ("Available", "Ready", "InfrastructureReady", "BootstrapConfigReady")
_SAID_BY_READY: Final = ("Machine", "Available")
_WAITING: Final = ("Waiting for", "not yet", "Not yet")
_KINDS: Final = (
    "Cluster",
    "Machine",
    "MachineSet",
    "MachineDeployment",
    "KubeadmControlPlane",
    "KubeadmConfig",
    "DevMachine",
    "DevCluster",
)


def _reasons(_: RuleContext, write: Write) -> Iterator[str]:
    if write.new is None:
        return
    for condition in (write.new.get("status") or {}).get("conditions") or ():
        if not isinstance(condition, dict):
            continue
        title = f"condition {condition['type']} of {write.kind} {write.name}"
        if not condition.get("reason"):
            yield f"{title} has no reason"
        is_explained = (
            condition["type"] in _EXPLAINED and (write.kind, condition["type"]) != _SAID_BY_READY
        )
        if is_explained and condition["status"] != "True" and not condition.get("message"):
            yield f"{title} is {condition['status']} and does not tell why"


def _own_wait(context: RuleContext, write: Write) -> Iterator[str]:
    """Return violations of the rule that a Machine does not report to wait for a providerID that it
    has.

    With faults another process may report that for a moment, as it has not seen the providerID yet.
    """
    old, new = write.old, write.new
    if write.kind != "Machine" or old is None or new is None or context.world.is_disturbed:
        return
    if not old["spec"].get("providerID") or old.get("status") == new.get("status"):
        return  # the status follows the spec
    condition = condition_of(new, "NodeHealthy")
    message = "" if condition is None else condition.get("message") or ""
    if "to report spec.providerID" in message:
        yield f"Machine {write.name} has a providerID and says: {message}"


def _waits(context: RuleContext) -> Iterator[str]:
    """Return violations of the rule that no condition reports a wait at the end of a scenario whose
    clusters are available.
    """
    if not all(is_true(cluster, "Available") for cluster in context.view.all("Cluster")):
        return
    for kind in _KINDS:
        for document in context.view.all(kind):
            if is_deleting(document):
                continue
            for condition in (document.get("status") or {}).get("conditions") or ():
                message = condition.get("message") or ""
                if any(word in message for word in _WAITING):
                    name = document["metadata"]["name"]
                    yield f"{kind} {name} still says in {condition['type']}: {message}"


WAIT_RULES: Final = (
    Rule("reasons", "Every condition has a reason, and what is not ready says why.", _reasons),
    Rule("waits", "No condition tells of a wait that is over.", _own_wait, _waits),
)
