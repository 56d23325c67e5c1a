"""Which Machines a change replaces, why, and in which steps; and what is there afterwards.

MachineDeployments and KubeadmControlPlanes are foretold by their own planners. What a control plane
or a machine pool of another provider does with its machines is that provider's business: it is
named, and counted as done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeVar

from kapy.api.cluster import Cluster
from kapy.api.embedded import StatusVersion
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Bootstrap, Machine, MachineSpec
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.names import Label
from kapy.api.times import stamp
from kapy.apps.plan.sandbox import Name, Snapshot
from kapy.contract.templates import SUFFIX
from kapy.core.machinedeployment import forecast as deployments
from kapy.core.machinedeployment.forecast import Step
from kapy.core.machineset.deletion_order import deletion_order
from kapy.kube import Document, Key
from kapy.kube.meta import Object, ObjectMeta, controller_of, owner_reference, read, written
from kapy.kube.model import copied, encode
from kapy.kube.names import GroupKind
from kapy.providers.kubeadm.controlplane import forecast as control_planes

O = TypeVar("O", bound=Object)  # noqa: E741

PLANNED: Final = "-planned"
"""In the name of a Machine that is not there yet: its real name is known when it is made."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """A Machine that goes, and why another one takes its place."""

    name: str
    because: tuple[str, ...]


@dataclass(slots=True)
class Rollout:
    """What becomes of the machines of one object.

    creates: how many Machines are made. goes: those that go without one in their place. steps: in
    words, in order. waits: OnDelete: somebody has to delete the old Machines. by_provider: another
    provider decides.
    """

    of: Name
    replaces: list[Replaced] = field(default_factory=list)
    creates: int = 0
    goes: list[str] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    waits: bool = False
    by_provider: bool = False

    @property
    def is_anything(self) -> bool:
        """Whether machines come, go or are changed."""
        return bool(self.steps or self.by_provider or self.waits)


@dataclass(slots=True)
class Outcome:
    """A rollout, and what is there when it is over."""

    rollout: Rollout
    written: list[Document] = field(default_factory=list)
    gone: list[Document] = field(default_factory=list)


class Foresight:
    """Foretells from one snapshot of a management cluster."""

    def __init__(self, objects: Snapshot, now: datetime) -> None:
        self._objects = objects
        self._now = now

    def outcomes(self) -> Iterator[Outcome]:
        """Of every object with machines that is not as it is wanted, control planes first."""
        for kcp in self._all(KubeadmControlPlane):
            if not kcp.deleting and (found := self._control_plane(kcp)) is not None:
                yield found
        yield from self._foreign_control_planes()
        for deployment in self._all(MachineDeployment):
            if not deployment.deleting and (found := self._deployment(deployment)) is not None:
                yield found

    # control planes

    def _control_plane(self, kcp: KubeadmControlPlane) -> Outcome | None:
        cluster = self._get(Cluster, kcp.metadata.namespace, _cluster_name(kcp))
        if cluster is None:
            return None
        machines = self._machines_of(kcp)
        belongings = self._belongings(machines)
        told = control_planes.forecast(cluster, kcp, machines, belongings, self._now)
        after = _served(kcp)
        if not told.steps and encode(after.status) == encode(kcp.status):
            return None
        leaving = {one.leaves for one in told.steps if one.leaves}
        rollout = Rollout(
            _name(kcp),
            [Replaced(name, why) for name, why in told.outdated.items()],
            creates=told.creates,
            goes=sorted(leaving - set(told.outdated)),
            steps=[_words(one.leaves) for one in told.steps],
        )
        template = Machine(
            metadata=ObjectMeta(labels={Label.CLUSTER_NAME: cluster.metadata.name}),
            spec=MachineSpec(
                cluster_name=cluster.metadata.name,
                bootstrap=Bootstrap(),
                infrastructure_ref=kcp.spec.machine_template.spec.infrastructure_ref,
                version=kcp.spec.version,
            ),
        )
        made = [_made(template, kcp, number, self._now) for number in range(told.creates)]
        gone = self._with_theirs(one for one in machines if one.metadata.name in leaving)
        return Outcome(rollout, [*map(written, made), written(after)], gone)

    def _belongings(self, machines: Sequence[Machine]) -> control_planes.Belongings:
        configs, infrastructure = {}, {}
        for one in machines:
            name, namespace = one.metadata.name, one.metadata.namespace
            if (config_ref := one.spec.bootstrap.config_ref) is not None:
                config = self._get(KubeadmConfig, namespace, config_ref.name)
                if config is not None:
                    configs[name] = config
            ref = one.spec.infrastructure_ref
            found = self._objects.get(
                Name(GroupKind(ref.api_group, ref.kind), Key(namespace, ref.name))
            )
            if found is not None:
                infrastructure[name] = found
        return control_planes.Belongings(configs, infrastructure)

    def _foreign_control_planes(self) -> Iterator[Outcome]:
        """Those of other providers, as their Clusters refer to them."""
        for cluster in self._all(Cluster):
            ref = cluster.spec.control_plane_ref
            if ref is None or ref.kind == KubeadmControlPlane.RESOURCE.kind:
                continue
            name = Name(
                GroupKind(ref.api_group, ref.kind), Key(cluster.metadata.namespace, ref.name)
            )
            document = self._objects.get(name)
            if document is None:
                continue
            spec, status = document.get("spec") or {}, document.get("status") or {}
            if any(status.get(one) != spec.get(one) for one in ("version", "replicas")):
                rollout = Rollout(name, by_provider=True)
                yield Outcome(rollout, [{**document, "status": _foreign_status(spec, status)}])

    # workers

    def _deployment(self, deployment: MachineDeployment) -> Outcome | None:
        sets = [one for one in self._all(MachineSet) if _is_controlled(one, deployment)]
        machines = {one.metadata.name: self._machines_of(one) for one in sets}
        everyone = [machine for some in machines.values() for machine in some]
        told = deployments.forecast(deployment, sets, everyone, self._now)
        after = _counted(deployment, told.sets)
        if not told.steps and encode(after.status) == encode(deployment.status):
            return None
        for one in told.sets:
            one.metadata.uid = one.metadata.uid or f"{one.key}{PLANNED}"
        steps = _Steps(machines, deployment.spec.deletion.order, self._now)
        words = [line for step in told.steps for line in steps.words(step)]
        rollout = Rollout(
            _name(deployment),
            [
                Replaced(name, told.outdated[of])
                for name, of in steps.gone.items()
                if of in told.outdated
            ],
            creates=steps.created,
            goes=[name for name, of in steps.gone.items() if of not in told.outdated],
            steps=words,
            waits=told.waits and bool(told.outdated),
        )
        made = [
            _made(
                Machine(metadata=_template_meta(one), spec=one.spec.template.spec),
                one,
                number,
                self._now,
            )
            for one in told.sets
            for number in range((one.spec.replicas or 0) - steps.left(one.metadata.name))
        ]
        gone = self._with_theirs(one for one in everyone if one.metadata.name in steps.gone)
        return Outcome(rollout, [*map(written, (*told.sets, *made, after))], gone)

    # reading

    def _all(self, kind: type[O]) -> list[O]:
        resource = kind.RESOURCE
        wanted = GroupKind(resource.group, resource.kind)
        return [read(one, kind) for name, one in self._objects.items() if name.kind == wanted]

    def _get(self, kind: type[O], namespace: str, name: str) -> O | None:
        found = self._objects.get(Name(_kind(kind), Key(namespace, name)))
        return None if found is None else read(found, kind)

    def _with_theirs(self, machines: Iterable[Machine]) -> list[Document]:
        """Machines and what goes with them."""
        leaving = list(machines)
        uids = {one.metadata.uid for one in leaving}
        belongings = [
            one
            for one in self._objects.values()
            if any(owner["uid"] in uids for owner in one["metadata"].get("ownerReferences") or ())
        ]
        return [*belongings, *(self._objects[_name(one)] for one in leaving)]

    def _machines_of(self, owner: Object) -> list[Machine]:
        return [one for one in self._all(Machine) if _is_controlled(one, owner)]


class _Steps:
    """Follows the Machines of MachineSets through the steps of a rollout.

    gone: the set that each Machine which goes was in, by its name. created: how many are made.
    """

    def __init__(self, machines: Mapping[str, list[Machine]], order: str, now: datetime) -> None:
        self._machines = {name: deletion_order(some, order, now) for name, some in machines.items()}
        self.gone: dict[str, str] = {}
        self.created = 0

    def words(self, step: Step) -> Iterator[str]:
        """What happens in a step."""
        for name, (before, after) in step.scale.items():
            if after > before:
                self.created += after - before
                yield f"create {_count(after - before)} in MachineSet {name} ({before} → {after})"
            else:
                names = [self._next(name) for _ in range(before - after)]
                yield f"delete {', '.join(names)} of MachineSet {name} ({before} → {after})"

    def left(self, name: str) -> int:
        """How many of the Machines that are there now stay in a set."""
        return len(self._machines.get(name, ()))

    def _next(self, name: str) -> str:
        there = self._machines.get(name)
        if not there:
            return "a new Machine"
        machine = there.pop(0)
        self.gone[machine.metadata.name] = name
        return f"Machine {machine.metadata.name}"


def _count(number: int) -> str:
    return "a Machine" if number == 1 else f"{number} Machines"


def _words(leaves: str) -> str:
    return f"delete Machine {leaves}" if leaves else "create a Machine"


def _kind(kind: type[Object]) -> GroupKind:
    return GroupKind(kind.RESOURCE.group, kind.RESOURCE.kind)


def _name(obj: Object) -> Name:
    return Name(_kind(type(obj)), obj.key)


def _is_controlled(obj: Object, owner: Object) -> bool:
    controller = controller_of(obj)
    return controller is not None and controller.uid == owner.metadata.uid


def _cluster_name(kcp: KubeadmControlPlane) -> str:
    owners = (one.name for one in kcp.metadata.owner_references if one.kind == "Cluster")
    return next(owners, kcp.metadata.labels.get(Label.CLUSTER_NAME, ""))


def _template_meta(machine_set: MachineSet) -> ObjectMeta:
    meta = machine_set.spec.template.metadata
    labels = {**meta.labels, Label.CLUSTER_NAME: machine_set.spec.cluster_name}
    return ObjectMeta(labels=labels, annotations=dict(meta.annotations))


def _made(machine: Machine, owner: Object, number: int, now: datetime) -> Machine:
    """A Machine as it will be, under a name of the plan's own."""
    metadata = machine.metadata
    metadata.name = f"{owner.metadata.name}{PLANNED}{number + 1}"
    metadata.namespace = owner.metadata.namespace
    metadata.uid = f"{owner.metadata.uid}{PLANNED}{number + 1}"
    metadata.creation_timestamp = stamp(now)
    machine.spec = copied(machine.spec)
    ref = machine.spec.infrastructure_ref  # its own, which is not there yet
    ref.kind, ref.name = ref.kind.removesuffix(SUFFIX), metadata.name
    machine.spec.bootstrap = Bootstrap()
    metadata.owner_references = [owner_reference(owner, controller=True)]
    return machine


def _served(kcp: KubeadmControlPlane) -> KubeadmControlPlane:
    """The control plane when all of its Machines are as wanted."""
    after = copied(kcp)
    status = after.status
    wanted = 1 if kcp.spec.replicas is None else kcp.spec.replicas
    status.replicas = status.ready_replicas = wanted
    status.available_replicas = status.up_to_date_replicas = wanted
    status.version = kcp.spec.version
    status.versions = [StatusVersion(version=kcp.spec.version, replicas=wanted)]
    status.observed_generation = kcp.metadata.generation
    status.initialization.control_plane_initialized = True
    return after


def _counted(deployment: MachineDeployment, sets: Sequence[MachineSet]) -> MachineDeployment:
    """The MachineDeployment when its sets are as planned."""
    after = copied(deployment)
    status, there = after.status, sum(one.spec.replicas or 0 for one in sets)
    status.replicas = status.ready_replicas = status.available_replicas = there
    status.up_to_date_replicas = deployment.spec.replicas or 0
    status.observed_generation = deployment.metadata.generation
    return after


def _foreign_status(spec: Document, status: Document) -> Document:
    """What another provider's control plane says when it has done its part, by both contracts."""
    after = dict(status)
    if "version" in spec:
        after["version"] = spec["version"]
    if "replicas" in spec:
        after |= dict.fromkeys(_COUNTERS, spec["replicas"])
        after["unavailableReplicas"] = 0
    return after


_COUNTERS: Final = (
    "replicas",
    "readyReplicas",
    "upToDateReplicas",
    "updatedReplicas",
    "availableReplicas",
)
