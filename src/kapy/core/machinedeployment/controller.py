"""What wakes a MachineDeployment: watches, maps, wiring. No decisions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from kapy.api.names import CLUSTER_GROUP, Annotation, Label
from kapy.contract.external import External, owner_keys
from kapy.contract.fleet import Fleet, cluster_of, own_change, own_life, referring
from kapy.contract.handover import awaited
from kapy.core.machinedeployment.reconcile import reconcile
from kapy.core.machinedeployment.scope import Tools
from kapy.core.machinedeployment.updates import SetUpdates
from kapy.engine.cache import Change
from kapy.engine.controller import AGGREGATE_DEBOUNCE, STATUS_DEBOUNCE, Controller
from kapy.engine.runtime import Runtime
from kapy.engine.ssa_cache import SSACache
from kapy.kube import Document, Key
from kapy.kube.names import GroupKind
from kapy.kube.selectors import selector_of
from kapy.remote.cluster_cache import ClusterCache

TEMPLATES = (
    ("spec", "template", "spec", "bootstrap", "configRef"),
    ("spec", "template", "spec", "infrastructureRef"),
)


def add_to(
    runtime: Runtime, _remote: ClusterCache, *, updates: SetUpdates | None = None
) -> Controller:
    """Run the MachineDeployment controller in `runtime`. updates: who knows which Machines can be
    updated in place, None where none may be."""
    fleet = Fleet(runtime.cache)
    external = External(runtime.client, runtime.cache)
    tools = Tools(
        client=runtime.client,
        external=external,
        fleet=fleet,
        events=runtime.events.named("machinedeployment-controller"),
        clock=runtime.clock,
        applied=runtime.metrics.remember(SSACache("machinedeployment")),
        updates=updates,
    )
    mapping = _Mapping(fleet)
    controller = Controller("machinedeployment", partial(reconcile, tools))
    controller.watch(fleet.deployments, own_life)
    controller.watch(fleet.deployments, awaited(own_change), debounce=STATUS_DEBOUNCE)
    controller.watch(fleet.deployments, own_change, debounce=AGGREGATE_DEBOUNCE)
    owned = owner_keys(GroupKind(CLUSTER_GROUP, "MachineDeployment"))
    controller.watch(fleet.machine_sets, owned, debounce=AGGREGATE_DEBOUNCE)
    controller.watch(fleet.machine_sets, mapping.of_orphan)
    if updates is not None:
        controller.watch(fleet.machines, _of_marked)
    controller.watch(runtime.cache.informer(fleet.clusters.resource), mapping.of_cluster)
    external.wake(controller, referring(fleet.deployments, *TEMPLATES))
    return runtime.add(controller, fleet.deployments)


MARKS: Final = (
    Annotation.UPDATE_IN_PROGRESS,
    Annotation.PENDING_ACKNOWLEDGE_MOVE,
    Annotation.PENDING_HOOKS,
)


def _of_marked(change: Change) -> Iterable[Key]:
    """The MachineDeployment of a Machine that was moved, or whose update begins or ends."""
    old, new = change.old, change.new
    if old is None or new is None or _marks(old) == _marks(new):
        return ()
    name = (new["metadata"].get("labels") or {}).get(Label.DEPLOYMENT_NAME)
    return (Key(new["metadata"]["namespace"], name),) if name else ()


def _marks(machine: Document) -> list[str | None]:
    annotations = machine["metadata"].get("annotations") or {}
    return [annotations.get(one) for one in MARKS]


class _Mapping:
    """From what changed to the MachineDeployments that look at it."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def of_orphan(self, change: Change) -> Iterable[Key]:
        """The MachineDeployments that may adopt a MachineSet without a controller."""
        machine_set = change.document
        owners = machine_set["metadata"].get("ownerReferences") or ()
        cluster = cluster_of(machine_set)
        if cluster is None or any(owner.get("controller") for owner in owners):
            return ()
        deployments = self._fleet.deployments_of(cluster)
        return [Key.of(one) for one in deployments if _selects(one, machine_set)]

    def of_cluster(self, change: Change) -> Iterable[Key]:
        """All MachineDeployments of a Cluster that appears, or is paused or unpaused."""
        if change.old is not None and change.new is not None:
            before, after = (one["spec"].get("paused") for one in (change.old, change.new))
            if bool(before) == bool(after):
                return ()
        cluster = Key.of(change.document)
        return [Key.of(one) for one in self._fleet.deployments_of(cluster)]


def _selects(deployment: Document, machine_set: Document) -> bool:
    selector = deployment["spec"].get("selector") or {}
    return bool(selector) and selector_of(selector).selects(machine_set)
