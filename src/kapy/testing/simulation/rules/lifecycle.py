"""Rules about the life of single objects."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, Final

from kapy.kube import Document, Key
from kapy.testing.simulation.rules.rule import (
    Rule,
    RuleContext,
    Write,
    cluster_name_of,
    is_deleting,
)
from kapy.testing.simulation.user import NAMESPACE, is_control_plane

_KEYS: Final = ("-ca", "-etcd", "-proxy", "-sa")


def _invariants(_: RuleContext, write: Write) -> Iterator[str]:
    old, new = write.old, write.new
    if old is None or new is None:
        return
    before, after = old["metadata"], new["metadata"]
    title = f"{write.kind} {write.name}"
    if before["uid"] != after["uid"]:
        yield f"{title} has another uid"
    if int(before["resourceVersion"]) >= int(after["resourceVersion"]):
        yield f"the resourceVersion of {title} went back"
    if "generation" in before:
        grew = after["generation"] - before["generation"]
        changed = old.get("spec") != new.get("spec")
        deleted = is_deleting(new) and not is_deleting(old)
        if grew != int(changed or deleted) and grew != int(changed) + int(deleted):
            yield f"the generation of {title} grew by {grew}"


def _never_back(_: RuleContext, write: Write) -> Iterator[str]:
    old, new = write.old, write.new
    if old is None or new is None:
        return
    title = f"{write.kind} {write.name}"
    before, after = _initialization(old), _initialization(new)
    for name, value in before.items():
        if value is True and after.get(name) is not True:
            yield f"status.initialization.{name} of {title} went back"
    for path in (("spec", "providerID"), ("status", "nodeRef", "name")):
        was, now = _value(old, path), _value(new, path)
        if was and was != now:
            yield f"{'.'.join(path)} of {title} changed from {was} to {now or 'nothing'}"


def _conditions_forward(context: RuleContext, write: Write) -> Iterator[str]:
    """The transition time of a condition must not decrease: that shows that a writer has
    overwritten another one. It may under faults, if an older write is merged into a newer state."""
    if write.old is None or write.new is None or context.world.is_disturbed:
        return
    before = _transitions(write.old)
    for type_, time in _transitions(write.new).items():
        if type_ in before and time < before[type_]:
            yield f"condition {type_} of {write.kind} {write.name} went back to {time}"


def _transitions(document: Document) -> dict[str, str]:
    conditions = (document.get("status") or {}).get("conditions") or ()
    return {
        condition["type"]: condition.get("lastTransitionTime") or "" for condition in conditions
    }


def _initialization(document: Document) -> Document:
    initialization: Document = (document.get("status") or {}).get("initialization") or {}
    return initialization


def _value(document: Document, path: tuple[str, ...]) -> Any:
    value: Any = document
    for name in path:
        value = (value or {}).get(name)
    return value


def _private_keys(context: RuleContext, write: Write) -> Iterator[str]:
    if write.kind != "Secret" or write.new is None or not write.name.endswith(_KEYS):
        return
    cluster = context.view.get("Cluster", cluster_name_of(write.new))
    key = (write.new.get("data") or {}).get("tls.key")
    if cluster is None or not key:
        return
    slot = ("key", cluster["metadata"]["uid"], write.name)
    first_key = context.memory.setdefault(slot, key)
    if first_key != key:
        yield f"the private key in Secret {write.name} was replaced"


def _init_once(context: RuleContext, write: Write) -> Iterator[str]:
    """Only one machine of a cluster runs `kubeadm init`; all others join."""
    if write.kind != "Secret" or write.new is None or not write.is_new:
        return
    data = base64.b64decode((write.new.get("data") or {}).get("value", "") or "")
    if b"kubeadm init" not in data:
        return
    cluster = context.view.get("Cluster", cluster_name_of(write.new))
    if cluster is None:
        return
    slot = ("init", cluster["metadata"]["uid"])
    initializer = context.memory.get(slot)
    context.memory[slot] = write.name
    initialized = _initialization(cluster).get("controlPlaneInitialized")
    if (
        initializer
        and initializer != write.name
        and (initialized or context.view.get("Machine", str(initializer)))
    ):
        yield f"{write.name} runs kubeadm init after {initializer}"


def _finalizers(context: RuleContext, write: Write) -> Iterator[str]:
    check = _GOING.get(write.kind)
    if write.new is None and check is not None and not write.is_removed_by_move:
        yield from check(context, write)


def _going_infrastructure(context: RuleContext, write: Write) -> Iterator[str]:
    workload = context.world.cloud.get(Key(NAMESPACE, cluster_name_of(write.document)))
    if workload is not None and write.name in workload.machines:
        yield f"DevMachine {write.name} went while its machine still runs"
    provider_id = write.document["spec"].get("providerID") or ""
    for name in context.world.inventory() or () if provider_id else ():
        if provider_id == name or provider_id.endswith(f"/{name}"):
            kind = write.document["kind"]
            yield f"{kind} {write.name} went while its machine {name} is in the cloud"


def _going_machine(context: RuleContext, write: Write) -> Iterator[str]:
    for kind in ("DevMachine", "KubeadmConfig"):
        other = context.view.get(kind, write.name)
        if other is not None and scene_owner_uid(other, "Machine") == _uid(write):
            yield f"Machine {write.name} went before its {kind}"


def _going_cluster(context: RuleContext, write: Write) -> Iterator[str]:
    for kind in ("Machine", "KubeadmControlPlane", "MachineDeployment", "DevCluster"):
        for dependent in context.view.all(kind):
            if cluster_name_of(dependent) == write.name:
                yield f"Cluster {write.name} went before {kind} {dependent['metadata']['name']}"


def _going_owner(context: RuleContext, write: Write) -> Iterator[str]:
    """An owner must not be removed before its dependents, since nothing else would handle these."""
    for dependent in context.owned(_OWNED[write.kind], write.document):
        name = dependent["metadata"]["name"]
        yield f"{write.kind} {write.name} went before {dependent['kind']} {name}"


_OWNED: Final = {
    "MachineSet": "Machine",
    "MachineDeployment": "MachineSet",
    "KubeadmControlPlane": "Machine",
    "MachinePool": "DevMachinePool",
    "DevMachinePool": "DevMachine",
}


def _workers_first(context: RuleContext, write: Write) -> Iterator[str]:
    """In the deletion of a Cluster, workers go before the control plane: their drain needs it."""
    cluster = context.view.get("Cluster", cluster_name_of(write.document))
    if not write.begins_deletion or cluster is None or not is_deleting(cluster):
        return
    if write.kind == "KubeadmControlPlane" or (
        write.kind == "Machine" and is_control_plane(write.document)
    ):
        for worker in context.view.machines(control_plane=False):
            if cluster_name_of(worker) == cluster["metadata"]["name"]:
                name = worker["metadata"]["name"]
                yield f"the deletion of {write.kind} {write.name} began before worker {name} went"


def _going_cloud(context: RuleContext, write: Write) -> Iterator[str]:
    cluster = cluster_name_of(write.document)
    for machine in context.view.all("DevMachine"):
        if cluster and cluster_name_of(machine) == cluster:
            yield f"DevCluster {write.name} went before DevMachine {machine['metadata']['name']}"


_GOING: Final = {
    "DevMachine": _going_infrastructure,
    "Machine": _going_machine,
    "Cluster": _going_cluster,
    **dict.fromkeys(_OWNED, _going_owner),
    "DevCluster": _going_cloud,
}


def _uid(write: Write) -> str:
    return str(write.document["metadata"]["uid"])


def scene_owner_uid(document: Document, kind: str) -> str:
    """Return the uid of an object's owner of a kind, "" for none."""
    for reference in document["metadata"].get("ownerReferences") or ():
        if reference["kind"] == kind:
            return str(reference["uid"])
    return ""


_OWNERS: Final = (
    "Cluster",
    "Machine",
    "MachineSet",
    "MachineDeployment",
    "MachinePool",
    "KubeadmControlPlane",
)


def _orphans(context: RuleContext) -> Iterator[str]:
    """At the end, every object that was created for a Machine has an owner."""
    existing = {
        str(document["metadata"]["uid"]) for kind in _OWNERS for document in context.view.all(kind)
    }
    for kind in ("DevMachine", "KubeadmConfig"):
        for document in context.view.all(kind):
            owner = scene_owner_uid(document, "Machine") or scene_owner_uid(document, "MachinePool")
            if cluster_name_of(document) and (not owner or owner not in existing):
                yield f"{kind} {document['metadata']['name']} has no Machine"
    for cluster in context.view.all("Cluster"):
        workload = context.world.cloud.get(Key.of(cluster))
        explained = {machine["metadata"]["name"] for machine in context.view.all("DevMachine")}
        explained |= context.lost_machines
        for name in sorted(set(workload.machines) - explained if workload is not None else ()):
            yield f"machine {name} of the cloud has no DevMachine"


LIFECYCLE_RULES: Final = (
    Rule("api-invariants", "uid, resourceVersion and generation behave.", _invariants),
    Rule("never-back", "provisioned, initialized, providerID and nodeRef stay.", _never_back),
    Rule("conditions-forward", "No condition goes back to an older one.", _conditions_forward),
    Rule("private-keys", "No private key of a cluster is replaced.", _private_keys),
    Rule("init-once", "One machine runs kubeadm init.", _init_once),
    Rule("finalizers", "An object goes after what it stands for.", _finalizers),
    Rule("workers-first", "Workers are deleted before the control plane.", _workers_first),
    Rule("no-orphan", "Nothing is left of what was given up.", final=_orphans),
)
