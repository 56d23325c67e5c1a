"""The desired MachineSets of a MachineDeployment, as server-side apply configurations (pure
functions).

The template of an existing set is immutable except for fields that are mutable in place: labels,
annotations, naming, deletion order, timeouts, readiness gates and taints follow the
MachineDeployment in all sets.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Final

from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet, MachineSetDeletionSpec, MachineSetSpec
from kapy.api.names import Annotation, Finalizer, Label
from kapy.core.machinedeployment.revisions import kept_revision_annotations
from kapy.core.machinedeployment.rollout import ON_DELETE, max_surge, strategy_of
from kapy.kube import Document
from kapy.kube.apply.last_applied import ANNOTATION as LAST_APPLIED
from kapy.kube.errors import KapyError
from kapy.kube.generated_names import LENGTH, MAX_NAME_LENGTH, suffix
from kapy.kube.meta import ObjectMeta, owner_reference, to_document
from kapy.kube.model import copy_model, encode

MANAGER: Final = "capi-machinedeployment"
NOT_FOR_SETS: Final = frozenset(
    {
        LAST_APPLIED,
        Annotation.CONVERSION_DATA,
        Annotation.REVISION,
        Annotation.REVISION_HISTORY,
        Annotation.DESIRED_REPLICAS,
        Annotation.MAX_REPLICAS,
    }
)


class NoTemplateHash(KapyError):
    """A MachineSet lacks the label that distinguishes its Machines from those of other sets."""


def new_set(deployment: MachineDeployment, *slot: object) -> MachineSet:
    """Return a set for the MachineDeployment's template, with no replicas yet; `slot` determines
    its name and its unique label.
    """
    unique = suffix(deployment.metadata.uid, *slot)
    name = f"{deployment.metadata.name}-"[: MAX_NAME_LENGTH - LENGTH] + unique
    metadata = ObjectMeta(name=name, finalizers=[Finalizer.MACHINE_SET])
    spec = MachineSetSpec(
        cluster_name=deployment.spec.cluster_name,
        selector=deployment.spec.selector,
        template=copy_model(deployment.spec.template),
        replicas=0,
    )
    hashed = f"{template_hash(deployment)}-{unique}"
    desired = _complete(deployment, MachineSet(metadata=metadata, spec=spec), hashed)
    desired.metadata.annotations[Annotation.DISABLE_MACHINE_CREATE] = "false"
    return desired


def update_set(deployment: MachineDeployment, current: MachineSet, *, old: bool) -> MachineSet:
    """Return the desired state of an existing set, before the plan sets its replicas.

    old: it has an old template; with the OnDelete strategy it creates no Machines. Raises
    NoTemplateHash.
    """
    hashed = current.metadata.labels.get(Label.MACHINE_TEMPLATE_HASH)
    if hashed is None:
        raise NoTemplateHash(f"MachineSet {current.key} has no label {Label.MACHINE_TEMPLATE_HASH}")
    metadata = ObjectMeta(
        name=current.metadata.name,
        uid=current.metadata.uid,
        creation_timestamp=current.metadata.creation_timestamp,
        deletion_timestamp=current.metadata.deletion_timestamp,
        finalizers=list(current.metadata.finalizers),
        generation=current.metadata.generation,
    )
    spec = MachineSetSpec(
        cluster_name=deployment.spec.cluster_name,
        selector=deployment.spec.selector,
        template=copy_model(current.spec.template),
        replicas=current.spec.replicas or 0,
    )
    whole = MachineSet(metadata=metadata, spec=spec, status=current.status)
    desired = _complete(deployment, whole, hashed)
    annotations = desired.metadata.annotations
    if old:
        annotations.update(kept_revision_annotations(current))
    disabled = old and strategy_of(deployment).type == ON_DELETE
    annotations[Annotation.DISABLE_MACHINE_CREATE] = "true" if disabled else "false"
    return desired


def intent_of(machine_set: MachineSet) -> Document:
    """Return the apply configuration of a desired set."""
    document = to_document(machine_set)
    document.pop("status", None)
    for name in ("creationTimestamp", "deletionTimestamp", "generation"):
        document["metadata"].pop(name, None)
    return document


def template_hash(deployment: MachineDeployment) -> int:
    """Return a hash of the fields that cause a rollout; it only has to distinguish sets."""
    text = json.dumps(encode(deployment.spec.template.spec), sort_keys=True)
    return int.from_bytes(sha256(text.encode()).digest()[:4])


def _complete(deployment: MachineDeployment, machine_set: MachineSet, hashed: str) -> MachineSet:
    """Fill in the fields that every set copies from its MachineDeployment."""
    wanted, metadata, spec = deployment.spec, machine_set.metadata, machine_set.spec
    unique = {Label.MACHINE_TEMPLATE_HASH: hashed}
    metadata.namespace = deployment.metadata.namespace
    metadata.owner_references = [owner_reference(deployment, controller=True, block_deletion=True)]
    metadata.labels = {
        **wanted.template.metadata.labels,
        **unique,
        Label.DEPLOYMENT_NAME: deployment.metadata.name,
    }
    metadata.annotations = set_annotations(deployment)
    spec.selector = copy_model(wanted.selector)
    spec.selector.match_labels.update(unique)
    spec.machine_naming = wanted.machine_naming
    spec.deletion = MachineSetDeletionSpec(order=wanted.deletion.order)
    spec.template.metadata.labels = {**wanted.template.metadata.labels, **unique}
    spec.template.metadata.annotations = dict(wanted.template.metadata.annotations)
    mine, theirs = spec.template.spec, wanted.template.spec
    mine.min_ready_seconds = theirs.min_ready_seconds
    mine.readiness_gates = theirs.readiness_gates
    mine.deletion = copy_model(theirs.deletion)
    mine.taints = theirs.taints
    return machine_set


def set_annotations(deployment: MachineDeployment) -> dict[str, str]:
    """Return the annotations of all sets: the MachineDeployment's own, and its size."""
    replicas = deployment.spec.replicas or 0
    own = deployment.metadata.annotations.items()
    return {name: value for name, value in own if name not in NOT_FOR_SETS} | {
        Annotation.DESIRED_REPLICAS: str(replicas),
        Annotation.MAX_REPLICAS: str(replicas + max_surge(deployment)),
    }
