"""The reconciler of MachineDeployments, and its phases: ownership of the MachineDeployment and of
its templates, and the rollout.
"""

from __future__ import annotations

from datetime import timedelta

from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.names import Annotation, Finalizer, Label
from kapy.api.times import moment
from kapy.conditions.paused import report_pause
from kapy.conditions.transitions import next_transition
from kapy.contract.errors import ContractError
from kapy.contract.observed import Absent, Unreadable
from kapy.contract.ownership import ensure_owner
from kapy.contract.templates import owned_template
from kapy.core.machinedeployment.desired import new_set, template_hash, update_set
from kapy.core.machinedeployment.in_place import acknowledged_names, decide
from kapy.core.machinedeployment.machinesets import (
    apply_sets,
    clean_up,
    delete_sets,
    read_machine_sets,
)
from kapy.core.machinedeployment.revisions import ClassifiedSets, classify_sets, newest_revision
from kapy.core.machinedeployment.rollout import ON_DELETE, Rollout, number_new, strategy_of
from kapy.core.machinedeployment.scope import Dependencies, MachineDeploymentScope
from kapy.core.machinedeployment.status import count, report_rollout, summarize, update_status
from kapy.core.machinedeployment.strategies import (
    plan_on_delete,
    plan_rolling_update,
    proportional_scale,
)
from kapy.engine.draft import Draft
from kapy.engine.reconciler import Reconciler
from kapy.engine.result import DONE, NotYet, Result, requeue
from kapy.engine.status_writes import StatusInputs
from kapy.kube import Key
from kapy.kube.meta import owner_reference


async def _reconcile_owner(scope: MachineDeploymentScope) -> Result:
    """Make the Cluster an owner of the MachineDeployment."""
    deployment = scope.deployment
    deployment.metadata.labels[Label.CLUSTER_NAME] = deployment.spec.cluster_name
    ensure_owner(deployment.metadata.owner_references, owner_reference(scope.cluster))
    return DONE


async def _reconcile_templates(scope: MachineDeploymentScope) -> Result:
    """Make the Cluster own the templates; record those that do not exist."""
    spec, dependencies = scope.deployment.spec.template.spec, scope.dependencies
    scope.missing = []
    for ref in (spec.bootstrap.config_ref, spec.infrastructure_ref):
        if ref is None:
            continue
        template = await owned_template(dependencies.external, ref, scope.cluster)
        if isinstance(template, Unreadable):
            if isinstance(template.error, ContractError):
                scope.broken = str(template.error)
            raise template.error
        if isinstance(template, Absent):
            scope.missing.append(ref.kind)
    return DONE


async def _roll_out(scope: MachineDeploymentScope) -> Result:
    """Plan the next step of a rollout (or of scaling, if rollouts are paused) and execute it."""
    deployment, sets = scope.deployment, scope.machine_sets
    if sets is None:
        return DONE
    sets_by_template = classify_sets(deployment, sets, scope.now)
    old = [update_set(deployment, item, old=True) for item in sets_by_template.old]
    new = _new_set(scope, sets_by_template)
    if new is not None:
        rollout = Rollout(
            deployment,
            new,
            old,
            scope.machines,
            sets_by_template.differences,
            acknowledged=acknowledged_names(sets_by_template.new),
        )
        revision = number_new(rollout, sets_by_template.new, sets_by_template.old)
        deployment.metadata.annotations[Annotation.REVISION] = revision
        await _plan(scope, rollout)
        old = rollout.old
    if deployment.spec.paused:
        _set_replicas([*old, *_known_sets(new)], proportional_scale(deployment, new, old))
    # The finalizer before anything is made: a deletion meanwhile would leave the sets behind.
    await scope.draft.save_spec()
    await apply_sets(scope, new, old)
    count(deployment.status, scope.machine_sets or [])
    serving = None if new is None else scope.machine_set(new.metadata.name)
    report_rollout(deployment, serving, scope.machine_sets or [], scope.now)
    if not deployment.spec.paused and _is_complete(deployment):
        await clean_up(scope, old)
    return _at_rollout_after(scope)


def _known_sets(new: MachineSet | None) -> list[MachineSet]:
    return [] if new is None else [new]


def _new_set(scope: MachineDeploymentScope, sets_by_template: ClassifiedSets) -> MachineSet | None:
    """Return the desired set for the template; None if it may not be created."""
    deployment = scope.deployment
    if sets_by_template.new is not None:
        return update_set(deployment, sets_by_template.new, old=False)
    if deployment.spec.paused:
        return None
    if scope.missing:
        raise NotYet(
            "cannot create a MachineSet when templates do not exist: " + ", ".join(scope.missing)
        )
    slot = (
        newest_revision(sets_by_template.old) + 1,
        template_hash(deployment),
        deployment.spec.rollout.after,
    )
    attempt = 0
    while (desired := new_set(deployment, *slot, attempt)).metadata.name in scope.documents:
        attempt += 1
    return desired


async def _plan(scope: MachineDeploymentScope, rollout: Rollout) -> None:
    if scope.deployment.spec.paused:
        return
    if strategy_of(scope.deployment).type == ON_DELETE:
        plan_on_delete(rollout)
    else:
        await decide(scope, rollout)
        plan_rolling_update(rollout)
    _set_replicas(rollout.all_sets, rollout.scale)


def _set_replicas(sets: list[MachineSet], sizes: dict[str, int]) -> None:
    for machine_set in sets:
        if machine_set.metadata.name in sizes:
            machine_set.spec.replicas = sizes[machine_set.metadata.name]


def _is_complete(deployment: MachineDeployment) -> bool:
    """Return whether all wanted Machines exist, up to date and available, and no others."""
    status = deployment.status
    wanted = deployment.spec.replicas or 0
    result = (status.replicas, status.up_to_date_replicas, status.available_replicas)
    return status.observed_generation >= deployment.metadata.generation and all(
        (number or 0) == wanted for number in result
    )


def _at_rollout_after(scope: MachineDeploymentScope) -> Result:
    """Return a timer for `rollout.after`: there is no event at that moment."""
    after = scope.deployment.spec.rollout.after
    if after is None or moment(after) <= scope.now:
        return DONE
    # One second later: it is due only after that moment, and times have whole seconds.
    delay = moment(after) - scope.now + timedelta(seconds=1)
    return requeue(after=delay, because="spec.rollout.after is not reached yet")


class MachineDeploymentReconciler(Reconciler[MachineDeployment, MachineDeploymentScope]):
    """Reconciles MachineDeployments; the creation of a missing Cluster enqueues them."""

    normal = (_reconcile_owner, _reconcile_templates, read_machine_sets, _roll_out)
    deletion = (read_machine_sets, delete_sets)
    saves_finalizer_first = False  # _roll_out saves it, together with the revision
    minor_counters = frozenset(
        {
            "replicas",
            "readyReplicas",
            "availableReplicas",
            "upToDateReplicas",
            "updatedReplicas",
            "unavailableReplicas",
            "versions",
            "phase",  # it compares counters
        }
    )

    def __init__(self, dependencies: Dependencies) -> None:
        kind, objects = MachineDeployment, dependencies.fleet.deployments
        super().__init__(kind, objects, dependencies.client, Finalizer.MACHINE_DEPLOYMENT)
        self.dependencies = dependencies

    async def begin(self, draft: Draft[MachineDeployment]) -> MachineDeploymentScope | Result:
        dependencies, deployment = self.dependencies, draft.object
        cluster = dependencies.fleet.cluster_of(deployment)
        if cluster is None:
            return DONE
        observed = dependencies.observed_machines(deployment, cluster.key)
        return MachineDeploymentScope(
            dependencies=dependencies,
            draft=draft,
            cluster=cluster,
            now=dependencies.clock(),
            machines=[item.machine for item in observed],
            groups={id(item.machine): item.group for item in observed if item.group is not None},
        )

    def pause(self, scope: MachineDeploymentScope) -> bool:
        return report_pause(scope.deployment, scope.cluster, scope.now)

    def delays_status(self, _scope: MachineDeploymentScope) -> bool:
        return True

    def status_inputs(self, scope: MachineDeploymentScope) -> StatusInputs | None:
        return scope.status_inputs

    def set_status(self, scope: MachineDeploymentScope) -> Result:
        update_status(scope)
        summarize(scope.deployment, scope.now)
        return DONE

    def requeue(self, scope: MachineDeploymentScope) -> Result:
        return next_transition(scope.aggregation_input.noteworthy, scope.now)

    def forget(self, key: Key) -> None:
        super().forget(key)
        self.dependencies.caches.pop(key, None)

    def drop_memos(self, key: Key) -> None:
        super().drop_memos(key)
        self.dependencies.caches.pop(key, None)
