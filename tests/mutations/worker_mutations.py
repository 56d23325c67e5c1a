"""Bugs of the controllers of MachineSets, MachineDeployments and MachinePools."""

from __future__ import annotations

from typing import Final

from tests.mutations.mutation import Mutation

SETS: Final = ("tests/core/machineset",)
DEPLOYMENTS: Final = ("tests/core/machinedeployment",)
POOLS: Final = ("tests/core/machinepool",)
RECORDED: Final = "tests/oracle/test_recorded.py::test_every_case_of_a_pure_topic_passes"
ROLLOUTS: Final = (f"{RECORDED}[rollout]",)

MACHINE_SETS: Final = (
    Mutation(
        "a retry makes Machines under new names",
        "core/machineset/creation.py",
        "machine_name(machine_set, slot, attempt)",
        "machine_name(machine_set, scope.now, attempt)",
        ("tests/core/machineset/test_creation.py",),
    ),
    Mutation(
        "clones of other MachineSets are taken for our own",
        "core/machineset/creation.py",
        "informer.list_by_index(_BY_OWNER, scope.machine_set.metadata.uid)",
        "informer.list()",
        ("tests/core/machineset/test_creation.py",),
    ),
    Mutation(
        "a refused Machine takes clones of others with it",
        "core/machineset/creation.py",
        "if clone is None or not is_owned_by(clone, scope.draft.before):",
        "if clone is None:",
        ("tests/core/machineset/test_creation.py",),
    ),
    Mutation(
        "clones that a Machine uses count as left behind",
        "core/machineset/creation.py",
        "return [\n"
        "        entry for entry in result if (entry[0].kind, "
        'entry[1]["metadata"]["name"]) not in in_use\n'
        "    ]",
        "return result",
        ("tests/core/machineset/test_creation.py",),
    ),
    Mutation(
        "a scale-down does not count Machines that are being deleted",
        "core/machineset/machines.py",
        "if machine.deleting:\n        return _DELETING",
        "if machine.deleting:\n        return _DELETED_LAST",
        ("tests/core/machineset/test_deletion_order.py",),
    ),
    Mutation(
        "a scale-down deletes Machines beyond those that are being deleted",
        "core/machineset/reconcile.py",
        "deletion_order(machines, order, scope.now, healthy=scope.groups)[:count]:",
        "[\n        machine"
        " for machine in deletion_order(machines, order, scope.now, healthy=scope.groups)"
        " if not machine.deleting\n    ][:count]:",
        SETS,
    ),
    Mutation(
        "the Machine that a person chose is not deleted first",
        "core/machineset/machines.py",
        "return _DELETION_REQUESTED",
        "return _DELETED_LAST",
        SETS,
    ),
    Mutation(
        "a Machine without a Node counts as healthy",
        "core/machineset/machines.py",
        "return machine.status.node_ref is not None and not (",
        "return not (",
        ("tests/core/machineset/test_deletion_order.py",),
    ),
    Mutation(
        "deletion order Newest deletes the oldest",
        "core/machineset/machines.py",
        "return _UNHEALTHY - _age_rank(machine, now)",
        "return _age_rank(machine, now)",
        ("tests/core/machineset/test_deletion_order.py",),
    ),
    Mutation(
        "a MachineSet takes Machines of another controller",
        "core/machineset/machines.py",
        "if item.controller == uid and item.selected]",
        "if item.controller and item.selected]",
        SETS,
    ),
    Mutation(
        "a MachineSet goes before its Machines are gone",
        "core/machineset/machines.py",
        "if not scope.machines:\n        finalizers",
        "if all(one.deleting for one in scope.machines):\n        finalizers",
        SETS,
    ),
    Mutation(
        "the finalizer of a new object is not written first",
        "engine/reconciler.py",
        "if added and self.saves_finalizer_first:",
        "if False:",
        SETS,
    ),
    Mutation(
        "a MachineSet makes Machines although creation is disabled",
        "core/machineset/reconcile.py",
        "if missing > 0 and not _creation_disabled(scope):",
        "if missing > 0:",
        SETS + DEPLOYMENTS,
    ),
    Mutation(
        "remediation ignores maxInFlight",
        "core/machineset/remediation.py",
        "- sum(map(_is_in_flight, scope.machines or ()))",
        "",
        SETS,
    ),
    Mutation(
        "Machines of an old revision are remediated",
        "core/machineset/remediation.py",
        "if not scope.is_current:  # all its Machines will be replaced anyway",
        "if False:",
        SETS,
    ),
    Mutation(
        "a kubelet may be four minor versions older",
        "core/machineset/preflight.py",
        "mine.minor < theirs.minor - OLDEST",
        "mine.minor < theirs.minor - OLDEST - 1",
        SETS,
    ),
    Mutation(
        "a refused Machine leaves its clones behind",
        "core/machineset/creation.py",
        "if isinstance(error, REFUSED):",
        "if False:",
        ("tests/core/machineset/test_creation.py",),
    ),
)

MACHINE_DEPLOYMENTS: Final = (
    Mutation(
        "an old MachineSet is deleted on a stale status",
        "core/machinedeployment/machinesets.py",
        "or replicas(current) or not is_observed:",
        "or replicas(current):",
        DEPLOYMENTS,
    ),
    Mutation(
        "an old MachineSet is deleted while it is still asked for replicas",
        "core/machinedeployment/machinesets.py",
        "or existing_replicas(current) or replicas(current) or",
        "or existing_replicas(current) or",
        DEPLOYMENTS,
    ),
    Mutation(
        "old MachineSets are deleted before the rollout is complete",
        "core/machinedeployment/reconcile.py",
        "if not deployment.spec.paused and _is_complete(deployment):",
        "if not deployment.spec.paused:",
        DEPLOYMENTS,
    ),
    Mutation(
        "a paused MachineDeployment deletes old MachineSets",
        "core/machinedeployment/reconcile.py",
        "if not deployment.spec.paused and _is_complete(deployment):",
        "if _is_complete(deployment):",
        DEPLOYMENTS,
    ),
    Mutation(
        "a paused MachineDeployment begins a rollout",
        "core/machinedeployment/reconcile.py",
        "if deployment.spec.paused:\n        return None",
        "if False:\n        return None",
        DEPLOYMENTS,
    ),
    Mutation(
        "Machines that are still there do not count as surge",
        "core/machinedeployment/rollout.py",
        "sum(\n"
        "        max(replicas(machine_set), existing_replicas(machine_set)) for "
        "machine_set in machine_sets\n"
        "    )",
        "sum(replicas(machine_set) for machine_set in machine_sets)",
        DEPLOYMENTS + ROLLOUTS,
    ),
    Mutation(
        "Machines that are going count as spare",
        "core/machinedeployment/strategies.py",
        "- pending - least - not_yet",
        "- least - not_yet",
        DEPLOYMENTS + ROLLOUTS,
    ),
    Mutation(
        "unavailable new Machines do not hold a rollout back",
        "core/machinedeployment/strategies.py",
        "- pending - least - not_yet",
        "- pending - least",
        DEPLOYMENTS + ROLLOUTS,
    ),
    Mutation(
        "maxSurge is rounded down",
        "core/machinedeployment/rollout.py",
        "scaled_value(max_surge, desired, round_up=True)",
        "scaled_value(max_surge, desired, round_up=False)",
        DEPLOYMENTS,
    ),
    Mutation(
        "maxUnavailable is rounded up",
        "core/machinedeployment/rollout.py",
        "scaled_value(max_unavailable, desired, round_up=False)",
        "scaled_value(max_unavailable, desired, round_up=True)",
        DEPLOYMENTS,
    ),
    Mutation(
        "a rollout that may neither surge nor shrink stands still",
        "core/machinedeployment/rollout.py",
        "unavailable = 1",
        "unavailable = 0",
        DEPLOYMENTS,
    ),
    Mutation(
        "rollout.after is due at once",
        "core/machinedeployment/revisions.py",
        "if after is None or now < moment(after):",
        "if after is None:",
        DEPLOYMENTS,
    ),
    Mutation(
        "a MachineSet made before rollout.after will do",
        "core/machinedeployment/revisions.py",
        "(machine_set for machine_set in matching if creation_time(machine_set) >= moment(after))",
        "(machine_set for machine_set in matching if creation_time(machine_set) <= moment(after))",
        DEPLOYMENTS,
    ),
    Mutation(
        "nobody wakes a MachineDeployment at rollout.after",
        "core/machinedeployment/reconcile.py",
        "if after is None or moment(after) <= scope.now:",
        "if True:",
        DEPLOYMENTS,
    ),
    Mutation(
        "a revision may decrease",
        "core/machinedeployment/revisions.py",
        "if current is not None and int(revision) < revision_of(new):",
        "if False:",
        DEPLOYMENTS + ROLLOUTS,
    ),
    Mutation(
        "of equal MachineSets the smaller one is taken",
        "core/machinedeployment/revisions.py",
        'float("inf") if count is None else -count',
        'float("inf") if count is None else count',
        DEPLOYMENTS + ROLLOUTS,
    ),
    Mutation(
        "the finalizer of a MachineDeployment is written after its MachineSets",
        "core/machinedeployment/reconcile.py",
        "    await scope.draft.save_spec()\n    await apply_sets(scope, new, old)",
        "    await apply_sets(scope, new, old)",
        DEPLOYMENTS,
    ),
    Mutation(
        "a MachineDeployment goes before its MachineSets are gone",
        "core/machinedeployment/machinesets.py",
        "if not scope.machine_sets:\n        finalizers",
        "if all(one.deleting for one in scope.machine_sets):\n        finalizers",
        DEPLOYMENTS,
    ),
    Mutation(
        "a MachineDeployment takes MachineSets of another controller",
        "core/machinedeployment/machinesets.py",
        'elif controller["uid"] != deployment.metadata.uid:',
        "elif False:",
        DEPLOYMENTS,
    ),
    Mutation(
        "a MachineSet's name changes between attempts",
        "core/machinedeployment/reconcile.py",
        "        template_hash(deployment),\n        deployment.spec.rollout.after,\n",
        "        template_hash(deployment),\n        scope.now,\n",
        DEPLOYMENTS,
    ),
    Mutation(
        "OnDelete asks again for what a person deleted",
        "core/machinedeployment/strategies.py",
        "missing = max(replicas(old) - existing_replicas(old), 0)",
        "missing = 0",
        DEPLOYMENTS + ROLLOUTS,
    ),
)

MACHINE_POOLS: Final = (
    Mutation(
        "the Nodes of machines that are gone stay",
        "core/machinepool/nodes.py",
        "provider_id not in listed",
        "provider_id in listed and False",
        POOLS,
    ),
    Mutation(
        "a Node without a provider ID is deleted",
        "core/machinepool/nodes.py",
        "node is not None and provider_id and provider_id not in listed",
        "node is not None and provider_id not in listed",
        ("tests/core/machinepool/test_machines.py",),
    ),
    Mutation(
        "another Node of the same name is deleted with the pool",
        "core/machinepool/reconcile.py",
        'if node is not None and node["metadata"]["uid"] == ref.uid:',
        "if node is not None:",
        ("tests/core/machinepool/test_machines.py",),
    ),
    Mutation(
        "a MachinePool goes before its infrastructure",
        "core/machinepool/reconcile.py",
        "    if objects:\n        return DONE\n",
        "",
        POOLS,
    ),
    Mutation(
        "a MachinePool takes Machines of another controller",
        "core/machinepool/machines.py",
        'if _controller(machine) in ("", uid)]',
        "]",
        ("tests/core/machinepool/test_machines.py",),
    ),
    Mutation(
        "a Machine that goes is made anew for its pool",
        "core/machinepool/machines.py",
        'if going["metadata"].get("deletionTimestamp"):\n        return',
        "if False:\n        return",
        ("tests/core/machinepool/test_machines.py",),
    ),
    Mutation(
        "a Node counts as available at once",
        "core/machinepool/nodes.py",
        "if least and time + least > now]",
        "if False]",
        POOLS,
    ),
)

PLANS: Final = (
    Mutation(
        "a planned MachineSet is as old as its MachineDeployment",
        "core/machinedeployment/forecast.py",
        "new.metadata.creation_timestamp = stamp(now)",
        "new.metadata.creation_timestamp = deployment.metadata.creation_timestamp",
        ("tests/core/machinedeployment/test_forecast.py",),
    ),
    Mutation(
        "a plan of a long rollout has no end",
        "core/machinedeployment/forecast.py",
        "prediction.steps += _remaining_steps(deployment, sets, now)",
        "pass",
        ("tests/core/machinedeployment/test_forecast.py",),
    ),
    Mutation(
        "a plan leaves out the templates of removed workers",
        "apps/plan/rollouts.py",
        "elif (stays := without_outside_finalizers(item, now)) is not None:",
        "elif (stays := None) is not None:",
        ("tests/apps/plan/test_plans.py",),
    ),
)
