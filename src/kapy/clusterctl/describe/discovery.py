"""Reading a cluster's objects into a tree, in upstream's order (`tree.Discovery`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kapy.clusterctl.describe.source import (
    CLUSTERS,
    MACHINE_DEPLOYMENTS,
    MACHINE_POOLS,
    MACHINE_SETS,
    MACHINES,
    RESOURCE_SET_BINDINGS,
    Source,
)
from kapy.clusterctl.describe.tree import Node, Shown, condition
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import split_api_version

CONTROL_PLANE_LABEL = "cluster.x-k8s.io/control-plane"


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `describe cluster`.

    show_conditions: a comma-separated list of `all`, kinds or kind/name, each with an optional `+`
    to show only conditions that need attention. echo: include infrastructure and bootstrap objects
    that only repeat their Machine's state. grouping: group machines of the same state in one row.
    """

    show_conditions: str = ""
    show_machine_sets: bool = False
    show_resource_sets: bool = False
    show_templates: bool = False
    echo: bool = False
    grouping: bool = True


EVERYTHING: Final = Options(show_machine_sets=True, echo=True, grouping=False)
"""Every object with a state of its own gets its own row."""


async def discover(source: Source, key: Key, options: Options) -> Node:
    """Return the tree of the cluster `key`. Raises NotFound if there is no such cluster."""
    cluster = await source.get(CLUSTERS, key)
    return await _Discovery(source, key, options).of(cluster)


class _Discovery:
    def __init__(self, source: Source, key: Key, options: Options) -> None:
        self.source = source
        self.key = key
        self.options = options
        self.placed: set[str] = set()

    async def of(self, cluster: Document) -> Node:
        root = self._node(cluster, kind="Cluster")
        spec = cluster["spec"]
        infrastructure = await self._referenced_object(spec.get("infrastructureRef"))
        if infrastructure is not None:
            root.append(self._node(infrastructure, role="ClusterInfrastructure"))
        if self.options.show_resource_sets:
            await self._resource_sets(root)
        machines = await self.source.of_cluster(MACHINES, self.key)
        control_plane = await self._control_plane(root, spec)
        if control_plane is not None:
            for machine in filter(_of_the_control_plane, machines):
                await self._machine(control_plane, machine)
        await self._workers(root, machines)
        return root

    async def _control_plane(self, root: Node, spec: Document) -> Node | None:
        document = await self._referenced_object(spec.get("controlPlaneRef"))
        if document is None:
            return None
        node = self._node(document, role="ControlPlane")
        node.is_control_plane, node.groups = True, self.options.grouping
        root.append(node)
        if self.options.show_templates:
            template = (document.get("spec") or {}).get("machineTemplate") or {}
            # The v1beta2 contract has the reference in the template's spec, v1beta1 beside that.
            reference = (template.get("spec") or template).get("infrastructureRef")
            if reference:
                self._templates(node, [(reference, "MachineInfrastructureTemplate")])
        return node

    async def _workers(self, root: Node, machines: Sequence[Document]) -> None:
        workers = Node("WorkerGroup", title="Workers")
        if any(not _of_the_control_plane(machine) for machine in machines):
            root.append(workers)
            await self._deployments(workers, machines)
        pools = await self.source.of_cluster(MACHINE_POOLS, self.key)
        if pools and workers.parent is None:
            root.append(workers)
        for pool in pools:
            await self._pool(workers, pool, machines)
        standalone = [item for item in machines if item["metadata"]["name"] not in self.placed]
        if standalone:
            other = workers.append(Node("OtherGroup", title="Other"))
            for machine in standalone:
                await self._machine(other, machine)

    async def _deployments(self, workers: Node, machines: Sequence[Document]) -> None:
        deployments = await self.source.of_cluster(MACHINE_DEPLOYMENTS, self.key)
        sets = await self.source.of_cluster(MACHINE_SETS, self.key)
        for deployment in deployments:
            node = self._node(deployment, kind="MachineDeployment")
            node.groups = self.options.grouping and not self.options.show_machine_sets
            workers.append(node)
            if self.options.show_templates:
                self._templates(node, _templates_of(deployment))
            for machine_set in _controlled_objects(sets, "MachineDeployment", deployment):
                parent = node
                if self.options.show_machine_sets:
                    parent = node.append(self._node(machine_set, kind="MachineSet"))
                    parent.groups = self.options.grouping
                for machine in _controlled_objects(machines, "MachineSet", machine_set):
                    await self._machine(parent, machine)

    async def _pool(self, workers: Node, pool: Document, machines: Sequence[Document]) -> None:
        node = self._node(pool, kind="MachinePool")
        node.groups = self.options.grouping
        workers.append(node)
        spec = pool["spec"]["template"]["spec"]
        await self._echoes(node, spec, "MachinePoolInfrastructure")
        for machine in _controlled_objects(machines, "MachinePool", pool):
            await self._machine(node, machine)

    async def _machine(self, parent: Node, machine: Document) -> None:
        self.placed.add(machine["metadata"]["name"])
        node = self._node(machine, kind="Machine")
        if parent.append(node) is node:
            await self._echoes(node, machine["spec"], "MachineInfrastructure")

    async def _echoes(self, node: Node, spec: Document, role: str) -> None:
        """Add the bootstrap and infrastructure object of a Machine, unless they only repeat its
        state."""
        bootstrap = (spec.get("bootstrap") or {}).get("configRef")
        for reference, its_role in (
            (spec.get("infrastructureRef"), role),
            (bootstrap, "BootstrapConfig"),
        ):
            document = await self._referenced_object(reference)
            if document is not None and (self.options.echo or not _echo(node, document)):
                node.append(self._node(document, role=its_role))

    def _templates(self, parent: Node, references: Sequence[tuple[Document, str]]) -> None:
        heading = parent.append(Node("TemplateGroup", title="Templates", order=1))
        for reference, role in references:
            heading.append(self._reference(reference, role=role))

    async def _resource_sets(self, root: Node) -> None:
        try:
            binding = await self.source.get(RESOURCE_SET_BINDINGS, self.key)
        except NotFound:
            return
        heading = root.append(Node("ClusterResourceSetGroup", title="ClusterResourceSets"))
        for item in binding["spec"].get("bindings") or []:
            heading.append(
                self._reference(
                    {"kind": "ClusterResourceSet", "name": item["clusterResourceSetName"]}
                )
            )

    def _reference(self, reference: Document, *, role: str = "") -> Node:
        """Return a row for an object that is only referenced, not read."""
        title = f"{reference['kind']} {self.key.namespace}/{reference['name']}"
        return Node(reference["kind"], title=title, role=role)

    async def _referenced_object(self, reference: Document | None) -> Document | None:
        return await self.source.referenced(reference, self.key.namespace)

    def _node(self, document: Document, *, kind: str = "", role: str = "") -> Node:
        kind = kind or document["kind"]
        shown = _shown_for(self.options.show_conditions, kind, document["metadata"]["name"])
        return Node(kind, document, role=role, shown=shown)


def _shown_for(filters: str, kind: str, name: str) -> Shown:
    for part in filter(None, filters.split(",")):
        plain = part.removesuffix("+")
        of_kind, _, of_name = plain.partition("/")
        everything = plain.lower() == "all"
        if everything or (of_kind.lower() == kind.lower() and of_name.lower() in ("", name)):
            return "telling" if part.endswith("+") else "all"
    return "none"


def _echo(node: Node, document: Document) -> bool:
    """Return whether an object's Ready condition only repeats that of its parent."""
    ready = condition(document, "Ready")
    if ready is not None and ready.get("status") == "True":
        return True
    above = None if node.document is None else condition(node.document, "Ready")
    return _state_and_message(ready) == _state_and_message(above)


def _state_and_message(ready: Document | None) -> tuple[str, str] | None:
    return None if ready is None else (ready.get("status", ""), ready.get("reason", ""))


def _of_the_control_plane(machine: Document) -> bool:
    return CONTROL_PLANE_LABEL in (machine["metadata"].get("labels") or {})


def _controlled_objects(objects: Sequence[Document], kind: str, owner: Document) -> list[Document]:
    uid = owner["metadata"]["uid"]
    return [obj for obj in objects if _is_controlled_by(obj, kind, uid)]


def _is_controlled_by(document: Document, kind: str, uid: str) -> bool:
    for reference in document["metadata"].get("ownerReferences") or []:
        if reference.get("controller"):
            group, _ = split_api_version(reference["apiVersion"])
            return (group, reference["kind"], reference["uid"]) == ("cluster.x-k8s.io", kind, uid)
    return False


def _templates_of(deployment: Document) -> list[tuple[Document, str]]:
    spec = deployment["spec"]["template"]["spec"]
    result = [(spec["infrastructureRef"], "MachineInfrastructureTemplate")]
    bootstrap = (spec.get("bootstrap") or {}).get("configRef")
    if bootstrap:
        result.insert(0, (bootstrap, "BootstrapConfigTemplate"))
    return result
