"""Bugs of Cluster API's history, and of controllers at large, that the simulation finds."""

from __future__ import annotations

from typing import Final

from tests.mutations.mutation import Mutation

UNDISTURBED: Final = ("tests/testing/simulation/test_undisturbed.py",)

WAITS: Final = (
    Mutation(
        "a refused connection is tried again after 30 seconds",
        "remote/cluster_cache.py",
        "        if accessor.client is None:\n            return await self._connect(accessor)\n",
        "        if accessor.client is None:\n"
        "            if accessor.failures:\n"
        "                await asyncio.sleep(30)\n"
        "            return await self._connect(accessor)\n",
        UNDISTURBED,
    ),
    Mutation(
        "a Machine waits for a providerID that it has",
        "core/machine/node_conditions.py",
        "    if machine.spec.provider_id:\n        wanted",
        "    if False:\n        wanted",
        UNDISTURBED,
    ),
    Mutation(
        "a wait for a providerID outlives it",
        "core/machine/node_conditions.py",
        "        return _absent(machine) if is_over else None\n",
        "        return None\n",
        UNDISTURBED,
    ),
    Mutation(
        "a lost Machine's name is used again",
        "providers/kubeadm/controlplane/creation.py",
        '    return nodes.raw(Key("", name)) is not None\n',
        "    return False\n",
        UNDISTURBED,
    ),
    Mutation(
        "a foreign control plane's Machine goes before its shutdown is prepared",
        "sdk/machine_based_control_plane_loop.py",
        "        answer = await self._provider.prepare_shutdown(self._context, machine)\n",
        "        answer = None\n",
        UNDISTURBED,
    ),
    Mutation(
        "a control plane without Machines counts as one with Nodes",
        "sdk/control_plane_controller.py",
        "        status.external_managed_control_plane = self._provider.external or None\n",
        "        status.external_managed_control_plane = None\n",
        UNDISTURBED,
    ),
    Mutation(
        "a MachineSet is not woken by its Machines",
        "core/machineset/controller.py",
        "    controller.watch(objects.machines, owned, debounce=AGGREGATE_DEBOUNCE)\n",
        "",
        UNDISTURBED,
    ),
    Mutation(
        "a refused eviction is not tried again",
        "core/machine/evictions.py",
        "    if not progress.refused:\n",
        "    if True:\n",
        UNDISTURBED,
    ),
)

RESTRAINT: Final = (
    Mutation(
        "a drain ignores PodDisruptionBudgets",
        "core/machine/evictions.py",
        'await client.raw("POST", PODS.path(key.namespace, key.name, "eviction"), body=eviction)',
        "await client.delete(PODS, key)",
        UNDISTURBED,
    ),
    Mutation(
        "no Node is drained",
        "core/machine/drain_steps.py",
        "if Annotation.EXCLUDE_NODE_DRAINING in machine.metadata.annotations:",
        "if True:",
        UNDISTURBED,
    ),
    Mutation(
        "a paused MachineSet goes on",
        "core/machineset/reconcile.py",
        "return report_pause(scope.machine_set, scope.cluster, scope.now)",
        "return False",
        UNDISTURBED,
    ),
    Mutation(
        "a paused Machine is deleted",
        "core/machine/reconcile.py",
        "return report_pause(scope.machine, scope.cluster, scope.now)",
        "return False",
        UNDISTURBED,
    ),
    Mutation(
        "the init lock is not released",
        "providers/kubeadm/bootstrap/reconcile.py",
        "    await scope.dependencies.lock.release(cluster)\n    join",
        "    join",
        UNDISTURBED,
    ),
)

OWNERSHIP: Final = (
    Mutation(
        "MachineSets of two templates have the same hash",
        "core/machinedeployment/desired.py",
        'hashed = f"{template_hash(deployment)}-{unique}"',
        'hashed = "0"',
        UNDISTURBED,
    ),
    Mutation(
        "a machine is not deleted in the cloud",
        "sdk/provider_reconciler.py",
        "        if scope.owned:\n",
        "        if False:\n",
        UNDISTURBED,
    ),
    Mutation(
        "a DevCluster without annotations is not reconciled",
        "sdk/infra_cluster_controller.py",
        "obj.metadata.annotations.update(answer.annotations)",
        'draft.before["metadata"]["annotations"].update(answer.annotations)',
        UNDISTURBED,
    ),
    Mutation(
        "a template of v1beta1 without a rollout type is refused",
        "api/v1beta1/kubeadm_control_plane.py",
        'strategy["type"] = strategy.get("type") or "RollingUpdate"',
        "pass",
        UNDISTURBED,
    ),
)

WRITES: Final = (
    Mutation(
        "a control plane is initialized until its first Node is known",
        "sdk/control_plane_loop.py",
        "        if count < self.desired_replicas + (self.max_surge if outdated else 0):\n"
        "            if self.may_change(None):\n",
        "        known = count > 4 or any(one.status.node_ref for one in self.machines)\n"
        "        wanted = self.desired_replicas + (self.max_surge if outdated else 0)\n"
        "        if not known or count < wanted:\n"
        "            if not known or self.may_change(None):\n",
        UNDISTURBED,
    ),
    Mutation(
        "a lost owner reference is not set again",
        "core/machine/providers.py",
        "get_owned(ref, scope.namespace, view, patch)",
        "get_owned(ref, scope.namespace, view, lambda _: {})",
        UNDISTURBED,
    ),
    Mutation(
        "a status patch overwrites the conditions of others",
        "engine/draft.py",
        "    if not touches_shared_list(patch):\n            return patch",
        "    if True:\n            return patch",
        UNDISTURBED,
    ),
)

CLOCKS: Final = (
    Mutation(
        "ages are measured by the manager's own clock",
        "engine/runtime.py",
        "        clock = server_clock.now\n",
        "",
        UNDISTURBED,
    ),
    Mutation(
        "ages of Nodes are measured by the management cluster's clock",
        "core/machinehealthcheck/reconcile.py",
        "    node_now = scope.dependencies.remote.now(scope.cluster.key)\n",
        "    node_now = scope.now\n",
        UNDISTURBED,
    ),
)

YEARS: Final = (
    Mutation(
        "a kubeconfig's certificate is not renewed",
        "sdk/kubeconfigs.py",
        "        return renewal[1]\n",
        "        return renewal[1].replace(year=renewal[1].year + 9)\n",
        UNDISTURBED,
    ),
    Mutation(
        "a step of the clock is undone until the next request",
        "client/server_clock.py",
        "                self._is_stepped = True\n",
        "",
        UNDISTURBED,
    ),
    Mutation(
        "Nodes are unknown while a connection gets another kubeconfig",
        "remote/cluster_cache.py",
        "self.health(accessor.cluster).last_success or accessor.last_success",
        "accessor.last_success",
        UNDISTURBED,
    ),
)

MOVES: Final = (
    Mutation(
        "a move does not pause the source",
        "clusterctl/move/pausing.py",
        '    log(1, f"Pausing the {side} cluster")\n'
        "    await _set(client, chosen, CLUSTER, log, paused=True)\n",
        '    log(1, f"Pausing the {side} cluster")\n',
        UNDISTURBED,
    ),
    Mutation(
        "a move leaves the target paused",
        "clusterctl/move/mover.py",
        "        await pausing.resume(self._target, state.paused, self._tell)\n",
        "",
        UNDISTURBED,
    ),
    Mutation(
        "a move keeps the UIDs of owners in the source",
        "clusterctl/move/copying.py",
        '{**reference, "uid": existing[ref]["metadata"]["uid"]} for ref, reference',
        "dict(reference) for ref, reference",
        UNDISTURBED,
    ),
    Mutation(
        "a move leaves objects in the source",
        "clusterctl/move/removal.py",
        "    for group in reversed(plan.groups()):\n        moved",
        "    for group in reversed(plan.groups()[2:]):\n        moved",
        UNDISTURBED,
    ),
    Mutation(
        "a resumed move does not pause the source again",
        "clusterctl/move/mover.py",
        "            await self._pause_source(state.paused)\n",
        "            self._pausing_done.update(state.paused)\n",
        UNDISTURBED,
    ),
)

ELECTIONS: Final = (
    Mutation(
        "a leader gives up later than others may take its Lease",
        "engine/leadership.py",
        "        self._until = max(self._until, request_time + self.terms.renew_deadline)\n"
        "        self._until_day = day + timedelta(seconds=self.terms.renew_deadline)\n",
        "        self._until = request_time + 3 * self.terms.duration\n"
        "        self._until_day = day + timedelta(seconds=3 * self.terms.duration)\n",
        UNDISTURBED,
    ),
    Mutation(
        "a candidate trusts the clock of the leader",
        "engine/leases.py",
        "        self._since = asyncio.get_running_loop().time()\n",
        "        renewed = __import__('datetime').datetime.fromisoformat(spec['renewTime'])\n"
        "        self._since = renewed.timestamp() - 1767225600.0\n",
        UNDISTURBED,
    ),
    Mutation(
        "a Lease that is held is taken",
        "engine/leadership.py",
        "if holder != self.terms.identity and self._seen.remaining(self.terms.duration) > 0:",
        "if False:",
        UNDISTURBED,
    ),
    Mutation(
        "the Lease of another leader is renewed",
        "engine/leadership.py",
        'if spec.get("holderIdentity") != self.terms.identity:',
        "if False:",
        UNDISTURBED,
    ),
)

SIMULATED: Final = (*WAITS, *RESTRAINT, *OWNERSHIP, *WRITES, *CLOCKS, *YEARS, *MOVES, *ELECTIONS)
