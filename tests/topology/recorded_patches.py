"""Topic `inlinepatches`: what a ClusterClass's patches make of templates."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator, Mapping
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.cluster_class_patches import ClusterClassPatch, JSONPatch, PatchSelector
from kapy.api.cluster_topology import ControlPlaneTopology, Topology
from kapy.api.cluster_topology_workers import MachineDeploymentTopology, MachinePoolTopology
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_pool import MachinePool
from kapy.contract.fields import Version
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.go_literals import fit_integers
from kapy.kube.model import M, decode
from kapy.kube.patch.strict_json_patch import Operation, parse_patch
from kapy.topology.blueprint import Blueprint, ControlPlaneBlueprint, WorkersBlueprint
from kapy.topology.builtins import (
    cluster_builtins,
    control_plane_builtins,
    machine_deployment_builtins,
    machine_pool_builtins,
)
from kapy.topology.patches import apply_patches
from kapy.topology.patches.engine import apply_patch
from kapy.topology.patches.external import MergePatch
from kapy.topology.patches.inline import InlinePatch, calculated_value, selects
from kapy.topology.patches.item import Holder, Item
from kapy.topology.patches.values import Part, SourceValues, Values
from kapy.topology.state import (
    ClusterState,
    ControlPlaneState,
    MachineDeploymentState,
    MachinePoolState,
)
from tests.oracle.topic import Check, Record, compared

_SELECTOR: Final = {"apiVersion": "", "kind": "", "matchResources": {}}


def _apply(record: Record) -> Iterator[str]:
    """The patches as they are; and once more as if extensions made them, which are asked what
    upstream's generators were asked, and answer what those did."""
    record = fit_integers(record)
    yield from _applied(record, None)
    if "error" not in record:
        yield from _applied(_external(record), _Recorded(record["steps"]))


def _applied(record: Record, external: _Recorded | None) -> Iterator[str]:
    blueprint, desired = _blueprint(record), _state(record["desired"])
    before = json.dumps(_document(desired))
    try:
        asyncio.run(apply_patches(blueprint, desired, external=external))
    except KapyError as error:
        yield from _refused(record, error)
        yield from compared(json.loads(before), _document(desired))
        return
    yield from compared(record.get("error"), None)
    yield from compared(_document(_state(record["out"])), _document(desired))
    if external is not None:
        yield from external.differences


class _Recorded:
    """Extensions that answer what was recorded."""

    def __init__(self, steps: list[Record]) -> None:
        self.steps = {step["patch"]: step for step in steps}
        self.differences: list[str] = []

    async def generate(self, extension: str, cluster: Cluster, request: Document) -> Document:
        recorded = self.steps[extension]
        items = {_place(item): item for item in recorded["request"]["items"]}
        items_there = {_place(item): item for item in request["items"]}
        uids = {
            items[place]["uid"]: value["uid"]
            for place, value in items_there.items()
            if place in items
        }
        entries = [_without_uids(items), _variables(recorded["request"])]
        self.differences += compared(entries, [_without_uids(items_there), _variables(request)])
        response = [
            {
                "uid": uids[item["uid"]],
                "patchType": item["patchType"],
                "patch": base64.b64encode(item["patch"].encode()).decode(),
            }
            for item in recorded["response"]
        ]
        return {"items": response}

    async def validate(self, extension: str, cluster: Cluster, request: Document) -> Document:
        raise AssertionError(extension)


def _refused(record: Record, error: Exception) -> Iterator[str]:
    """Yield an error if none is recorded. Messages of errors are not compared."""
    if "error" not in record:
        yield f"no error is recorded, given is {error}"


def _place(item: Document) -> str:
    return json.dumps(item["holderReference"], sort_keys=True)


def _without_uids(items: Mapping[str, Document]) -> Document:
    """Labels and annotations of templates of MachinePools are left out: upstream shared those
    templates with MachineDeployments in what was recorded, and with them the others' labels."""
    return {
        place: {
            "object": {
                **document["object"],
                "metadata": {} if _is_pool(document) else document["object"]["metadata"],
            },
            "variables": _variables(document),
        }
        for place, document in items.items()
    }


def _is_pool(item: Document) -> bool:
    return bool(item["holderReference"]["kind"] == "MachinePool")


def _variables(request: Document) -> Document:
    return {variable["name"]: variable["value"] for variable in request.get("variables") or ()}


def _external(record: Record) -> Record:
    """The record with every patch made by an extension of its name, with the same variables."""
    blueprint = record["blueprint"]
    class_ = blueprint["ClusterClass"]
    patches = [
        {"name": patch["name"], "external": {"generatePatchesExtension": patch["name"]}}
        for patch in class_["spec"].get("patches") or ()
    ]
    variables = [
        {
            **variable,
            "definitions": [
                {**definition, "from": patch["name"]}
                for definition in variable["definitions"]
                if definition["from"] == "inline"
                for patch in patches
            ],
        }
        for variable in class_.get("status", {}).get("variables") or ()
    ]
    changed = {
        **class_,
        "spec": {**class_["spec"], "patches": patches},
        "status": {"variables": variables},
    }
    return {**record, "blueprint": {**blueprint, "ClusterClass": changed}}


def _blueprint(record: Record) -> Blueprint:
    document = record["blueprint"]
    control_plane = document["ControlPlane"]
    return Blueprint(
        topology=decode(document["Topology"], Topology),
        cluster_class=_read(document["ClusterClass"], ClusterClass),
        infrastructure_cluster_template=document["InfrastructureClusterTemplate"],
        control_plane=ControlPlaneBlueprint(
            template=control_plane["Template"],
            infrastructure_machine_template=control_plane.get("InfrastructureMachineTemplate"),
            contract=Version(record["controlPlaneContractVersion"] or "v1beta2"),
        ),
        machine_deployments={
            name: WorkersBlueprint(
                deployment["BootstrapTemplate"], deployment["InfrastructureMachineTemplate"]
            )
            for name, deployment in (document.get("MachineDeployments") or {}).items()
        },
        machine_pools={
            name: WorkersBlueprint(
                pool["BootstrapTemplate"], pool["InfrastructureMachinePoolTemplate"]
            )
            for name, pool in (document.get("MachinePools") or {}).items()
        },
    )


def _state(document: Document) -> ClusterState:
    control_plane = document["ControlPlane"]
    return ClusterState(
        cluster=_read(document["Cluster"], Cluster),
        infrastructure_cluster=document["InfrastructureCluster"],
        control_plane=ControlPlaneState(
            object=control_plane["Object"],
            infrastructure_machine_template=control_plane.get("InfrastructureMachineTemplate"),
        ),
        machine_deployments={
            name: MachineDeploymentState(
                object=_worker(deployment["Object"], MachineDeployment),
                bootstrap_template=deployment["BootstrapTemplate"],
                infrastructure_machine_template=deployment["InfrastructureMachineTemplate"],
            )
            for name, deployment in (document.get("MachineDeployments") or {}).items()
        },
        machine_pools={
            name: MachinePoolState(
                object=_worker(pool["Object"], MachinePool),
                bootstrap_object=pool["BootstrapObject"],
                infrastructure_machine_pool_object=pool["InfrastructureMachinePoolObject"],
            )
            for name, pool in (document.get("MachinePools") or {}).items()
        },
    )


def _document(state: ClusterState) -> Document:
    return {
        "infrastructure": state.infrastructure_cluster,
        "controlPlane": state.control_plane.object,
        "machines": state.control_plane.infrastructure_machine_template,
        "machineDeployments": {
            name: [deployment.bootstrap_template, deployment.infrastructure_machine_template]
            for name, deployment in state.machine_deployments.items()
        },
        "machinePools": {
            name: [pool.bootstrap_object, pool.infrastructure_machine_pool_object]
            for name, pool in state.machine_pools.items()
        },
    }


def _read(document: Document, kind: type[M]) -> M:
    """Recorded classes leave out what was at its zero."""
    status = document.get("status", {})
    variables = [
        {
            **variable,
            "definitions": [
                {"required": False, "schema": {"openAPIV3Schema": {}}, **definition}
                for definition in variable["definitions"]
            ],
        }
        for variable in status.get("variables") or ()
    ]
    if variables:
        document = {**document, "status": {**status, "variables": variables}}
    return decode(document, kind)


def _worker(document: Document, kind: type[M]) -> M:
    """Recorded ones say no more of themselves than patches read."""
    spec = document["spec"]
    inner = {"bootstrap": {}, "clusterName": "", "infrastructureRef": _NOTHING}
    template = {**spec.get("template", {})}
    template["spec"] = {**inner, **template.get("spec", {})}
    needed = {"clusterName": "", "selector": {}}
    return decode({**document, "spec": {**needed, **spec, "template": template}}, kind)


_NOTHING: Final = {"apiGroup": "", "kind": "", "name": ""}


def _apply_patch(record: Record) -> Iterator[str]:
    try:
        patch = fit_integers(json.loads(record["patch"])) if record["patch"] else {}
        merges = record["patchType"] == "JSONMergePatch"
        change = MergePatch(patch) if merges else parse_patch(patch)
        out = apply_patch(record["template"], change)
    except (KapyError, ValueError) as error:
        return _refused(record, error)
    return compared(fit_integers(record.get("out")), out)


def _builtin(record: Record) -> Iterator[str]:
    defined = frozenset(record["definitions"] or ())
    if record["fn"] == "Global":
        topology = {"classRef": {"name": ""}, "version": "", **record["topology"]}
        builtins = cluster_builtins(decode(record["cluster"], Cluster))
        out = SourceValues(decode(topology, Topology).variables, builtins, defined).cluster
    else:
        out = SourceValues([], {}, defined).of(_part(record["fn"], record)).own
    return compared({item["name"]: item["value"] for item in record["out"]}, out)


def _part(kind: str, document: Record) -> Part:
    machines, bootstrap = (
        document.get("infrastructureMachineTemplate"),
        document.get("bootstrapTemplate"),
    )
    if kind == "ControlPlane":
        control_plane = decode(document["topology"], ControlPlaneTopology)
        builtins = control_plane_builtins(control_plane, document["controlPlane"], machines)
        return Part("", control_plane.variables.overrides, builtins)
    if kind == "MachineDeployment":
        deployment = decode(document["topology"], MachineDeploymentTopology)
        owner = _worker(document["machineDeployment"], MachineDeployment)
        builtins = machine_deployment_builtins(deployment, owner, bootstrap, machines)
        return Part(deployment.name, deployment.variables.overrides, builtins)
    pool = decode(document["topology"], MachinePoolTopology)
    owner_pool = _worker(document["machinePool"], MachinePool)
    builtins = machine_pool_builtins(
        pool, owner_pool, document["bootstrapObject"], document["infrastructureMachinePool"]
    )
    return Part(pool.name, pool.variables.overrides, builtins)


def _calculate(record: Record) -> Iterator[str]:
    record = fit_integers(record)
    change = decode({"op": "add", "path": "/spec", **record["patch"]}, JSONPatch)
    try:
        value = calculated_value(change, Values(record["variables"], {}))
    except KapyError as error:
        return _refused(record, error)
    return compared(record.get("error") or fit_integers(json.loads(record["raw"])), value)


def _generate(record: Record) -> Iterator[str]:
    record = fit_integers(record)
    patch = InlinePatch(decode(record["patch"], ClusterClassPatch))
    shared = _variables(record["request"])
    out: list[Document] = []
    problem: KapyError | None = None
    for item in record["request"]["items"]:
        values = Values(shared, _variables(item))
        try:
            for generated_patch in patch.generate(
                _item(item["holderReference"], item["object"]), values
            ):
                patched = [_said(operation) for operation in generated_patch.operations]
                out.append({"uid": item["uid"], "patchType": "JSONPatch", "patch": patched})
        except KapyError as error:
            problem = error
    if problem is not None:
        return _refused(record, problem)
    recorded = [
        {**element, "patch": fit_integers(json.loads(element["patch"]))}
        for element in record.get("response") or ()
    ]
    return compared(recorded, out)


def _item(holder: Document, template: Document) -> Item:
    return Item(Holder(*(holder[item] for item in _HOLDER)), template)


_HOLDER: Final = ("apiVersion", "kind", "namespace", "name", "fieldPath")


def _said(operation: Operation) -> Document:
    document: Document = {"op": operation.op, "path": operation.path}
    return document if operation.op == "remove" else {**document, "value": operation.value}


def _matches(record: Record) -> Iterator[str]:
    template = {"apiVersion": record["apiVersion"], "kind": record["kind"]}
    selector = decode({**_SELECTOR, **record["selector"]}, PatchSelector)
    item = _item(record["holderReference"], template)
    values = Values({}, record["templateVariables"] or {})
    return compared(record["out"], selects(selector, item, values))


FILES: Final[Mapping[str, Check]] = {
    "apply": _apply,
    "apply_patch": _apply_patch,
    "builtin_variables": _builtin,
    "calculate_value": _calculate,
    "generate": _generate,
    "matches_selector": _matches,
}
