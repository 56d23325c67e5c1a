"""The topology of a cluster: its variables, and the patches of its class by template. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kapy.api.validation.cluster_class_patches import is_class_named
from kapy.kube import Document
from kapy.kube.yaml import dump
from kapy.ui.documents import part, text_at, worker_groups

MAX_VALUE: Final = 2000
"""Characters of a variable's value that are shown."""


class Variable(NamedTuple):
    """A variable of the topology. place: "" for the cluster, else the part that overrides it."""

    name: str
    place: str
    value: str


class PatchUse(NamedTuple):
    """A patch that changes a template. paths: the fields that it changes. variables: those that it
    reads."""

    patch: Document
    paths: Sequence[str]
    variables: Sequence[str]


class TemplateUse(NamedTuple):
    """A template of the class, the place where it is used, and the patches that select it."""

    place: str
    reference: Document
    patches: Sequence[PatchUse]


class _Slot(NamedTuple):
    """A place that refers to a template. resources: the field of matchResources that selects it."""

    place: str
    holder: Document
    resources: str
    class_name: str = ""


def variables_of(cluster: Document) -> list[Variable]:
    """Return the variables of a Cluster with their values."""
    topology = part(cluster, "spec", "topology")
    variables = [("", variable) for variable in topology.get("variables") or ()]
    parts = [("control plane", part(topology, "controlPlane"))]
    for kind, groups in _GROUPS:
        for group in worker_groups(cluster, groups):
            parts.append((f"{kind} {text_at(group, 'name')}", group))
    for place, holder in parts:
        overrides = part(holder, "variables").get("overrides") or ()
        variables += [(place, variable) for variable in overrides]
    return [Variable(text_at(item, "name"), place, _value(item)) for place, item in variables]


_GROUPS: Final = (("MachineDeployment", "machineDeployments"), ("MachinePool", "machinePools"))


def _value(variable: Document) -> str:
    value = variable.get("value")
    return (value if isinstance(value, str) else dump(value).strip())[:MAX_VALUE]


def templates_of(cluster_class: Document) -> list[TemplateUse]:
    """Return the templates of a ClusterClass with the patches that select them."""
    spec = part(cluster_class, "spec")
    uses = []
    for slot in _slots(spec):
        if reference := part(slot.holder, "templateRef"):
            chosen = (_use(patch, reference, slot) for patch in spec.get("patches") or ())
            uses.append(TemplateUse(slot.place, reference, list(filter(None, chosen))))
    return uses


def _slots(spec: Document) -> Iterator[_Slot]:
    control_plane = part(spec, "controlPlane")
    machines = part(control_plane, "machineInfrastructure")
    yield _Slot("infrastructure", part(spec, "infrastructure"), "infrastructureCluster")
    yield _Slot("control plane", control_plane, "controlPlane")
    yield _Slot("control plane machines", machines, "controlPlane")
    for kind, groups in _GROUPS:
        resources = f"{kind[0].lower()}{kind[1:]}Class"
        for group in part(spec, "workers").get(groups) or ():
            name = text_at(group, "class")
            for title in ("bootstrap", "infrastructure"):
                place = f"{groups} class {name}: {title}"
                yield _Slot(place, part(group, title), resources, name)


def _use(patch: Document, reference: Document, slot: _Slot) -> PatchUse | None:
    """Return how a patch changes a template; a patch by an extension may change any template."""
    if text_at(patch, "external", "generatePatchesExtension"):
        return PatchUse(patch, (), ())
    definitions = patch.get("definitions") or ()
    chosen = [item for item in definitions if _selects(part(item, "selector"), reference, slot)]
    operations = [step for item in chosen for step in item.get("jsonPatches") or ()]
    paths = [f"{text_at(operation, 'op')} {text_at(operation, 'path')}" for operation in operations]
    variables = {text_at(operation, "valueFrom", "variable") for operation in operations} - {""}
    return PatchUse(patch, paths, sorted(variables)) if chosen else None


def _selects(selector: Document, reference: Document, slot: _Slot) -> bool:
    if any(selector.get(name) != reference.get(name) for name in ("apiVersion", "kind")):
        return False
    match = part(selector, "matchResources").get(slot.resources)
    if isinstance(match, dict):
        names = match.get("names") or ()
        return any(is_class_named(slot.class_name, str(name)) for name in names)
    return bool(match)
