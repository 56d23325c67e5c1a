"""The desired Machine of a MachineSet, as a server-side apply configuration (pure functions).

For an existing Machine only fields that are mutable in place are taken from the template: labels,
annotations, readiness gates, timeouts, taints. The version is never changed that way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kapy.api.machine import Machine
from kapy.api.machine_set import MachineSet
from kapy.api.names import Finalizer, Label
from kapy.api.naming import RANDOM, BadNameTemplate, generate_name
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.generated_names import suffix
from kapy.kube.meta import Object, owner_reference
from kapy.kube.model import encode
from kapy.kube.qualified_names import label_value

MANAGER: Final = "capi-machineset"
METADATA_MANAGER: Final = "capi-machineset-metadata"
DEFAULT_NAME: Final = "{{ .machineSet.name }}-{{ .random }}"
_CANNOT_NAME: Final = "cannot generate Machine name"


class BadNaming(KapyError):
    """`spec.machineNaming.template` is invalid; the message says why."""


def machine_name(machine_set: MachineSet, *slot: object) -> str:
    """Return a name by `spec.machineNaming.template`: the same for the same slot."""
    template = machine_set.spec.machine_naming.template or DEFAULT_NAME
    if RANDOM not in template:
        raise BadNaming(f"{_CANNOT_NAME}: {RANDOM} is missing in machineNaming.template")
    names = {
        "cluster": {"name": machine_set.spec.cluster_name},
        "machineSet": {"name": machine_set.metadata.name},
    }
    try:
        return generate_name(template, names, suffix(machine_set.metadata.uid, *slot))
    except BadNameTemplate as error:
        raise BadNaming(f"{_CANNOT_NAME}: {error}") from None


def machine_labels(machine_set: MachineSet) -> dict[str, str]:
    """Return the labels of the set's Machines, and of their clones."""
    labels = dict(machine_set.spec.template.metadata.labels)
    labels[Label.SET_NAME] = label_value(machine_set.metadata.name)
    deployment = machine_set.metadata.labels.get(Label.DEPLOYMENT_NAME)
    if deployment is not None:
        labels[Label.DEPLOYMENT_NAME] = deployment
    return labels


def machine_annotations(machine_set: MachineSet) -> dict[str, str]:
    """Return the annotations of the set's Machines, and of their clones."""
    return dict(machine_set.spec.template.metadata.annotations)


def new_machine(
    machine_set: MachineSet, name: str, *, bootstrap: Document | None, infrastructure: Document
) -> Document:
    """Return the apply configuration of a new Machine. bootstrap, infrastructure: references to the
    Machine's clones.
    """
    spec = _spec(machine_set)
    spec["infrastructureRef"] = infrastructure
    if bootstrap is not None:
        spec["bootstrap"] = {**spec.get("bootstrap", {}), "configRef": bootstrap}
    return _intent(machine_set, {"name": name}, [Finalizer.MACHINE], spec)


def update_machine(machine_set: MachineSet, machine: Machine) -> Document:
    """Return the apply configuration of an existing Machine with its mutable fields; the uid
    protects against recreation.
    """
    spec, current = _spec(machine_set), encode(machine.spec)
    for name in ("infrastructureRef", "version", "failureDomain"):
        spec.pop(name, None)
        if name in current:
            spec[name] = current[name]
    config = current.get("bootstrap", {}).get("configRef")
    if config is not None:
        spec["bootstrap"] = {**spec.get("bootstrap", {}), "configRef": config}
    finalizers = list(machine.metadata.finalizers)
    if Finalizer.MACHINE not in finalizers:
        finalizers.append(Finalizer.MACHINE)
    identity = {"name": machine.metadata.name, "uid": machine.metadata.uid}
    return _intent(machine_set, identity, finalizers, spec)


def renew_machine(machine_set: MachineSet, machine: Machine) -> Document:
    """Return the apply configuration of an existing Machine with all fields of the template, for an
    update in place.
    """
    intent, wanted = update_machine(machine_set, machine), encode(machine_set.spec.template.spec)
    for name in ("version", "failureDomain"):
        intent["spec"].pop(name, None)
        if name in wanted:
            intent["spec"][name] = wanted[name]
    return intent


def metadata_intent(machine_set: MachineSet, owned: Document) -> Document:
    """Return labels and annotations of a clone, as an apply configuration."""
    metadata = owned["metadata"]
    intent: Document = {name: metadata[name] for name in ("name", "namespace", "uid")}
    intent["labels"] = machine_labels(machine_set)
    if annotations := machine_annotations(machine_set):
        intent["annotations"] = annotations
    return {"apiVersion": owned["apiVersion"], "kind": owned["kind"], "metadata": intent}


def owner_of_clones(machine_set: Object) -> Document:
    """Return the owner reference of clones until their Machine replaces it."""
    return encode(owner_reference(machine_set))


def _spec(machine_set: MachineSet) -> Document:
    spec = encode(machine_set.spec.template.spec)
    spec["clusterName"] = machine_set.spec.cluster_name
    spec.pop("infrastructureRef", None)
    spec["bootstrap"] = {
        name: value for name, value in spec.get("bootstrap", {}).items() if name != "configRef"
    }
    return spec


def _intent(
    machine_set: MachineSet, identity: Document, finalizers: Sequence[str], spec: Document
) -> Document:
    controller = owner_reference(machine_set, controller=True, block_deletion=True)
    metadata: Document = {
        **identity,
        "namespace": machine_set.metadata.namespace,
        "labels": machine_labels(machine_set),
        "ownerReferences": [encode(controller)],
        "finalizers": list(finalizers),
    }
    if annotations := machine_annotations(machine_set):
        metadata["annotations"] = annotations
    resource = Machine.RESOURCE
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": metadata,
        "spec": spec,
    }
