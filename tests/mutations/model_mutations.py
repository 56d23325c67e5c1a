"""Bugs that the small models find."""

from __future__ import annotations

from typing import Final

from tests.mutations.mutation import Mutation

ROLLOUT: Final = ("tests/models/test_rollout.py",)
CONTROL_PLANE: Final = ("tests/models/test_control_plane.py",)

ROLLOUTS: Final = (
    Mutation(
        "the surge is not added to the desired replicas",
        "core/machinedeployment/rollout.py",
        "desired + surge,\n",
        "desired,\n",
        ROLLOUT,
    ),
    Mutation(
        "more Machines are missing than are",
        "core/machinedeployment/rollout.py",
        "missing = limit - total",
        "missing = limit - total + 1",
        ROLLOUT,
    ),
    Mutation(
        "the new set grows beyond the desired replicas",
        "core/machinedeployment/rollout.py",
        "missing = min(missing, desired - now)",
        "missing = max(missing, 0)",
        ROLLOUT,
    ),
    Mutation(
        "the new set never grows",
        "core/machinedeployment/rollout.py",
        "if count != now:",
        "if count < now:",
        ROLLOUT,
    ),
    Mutation(
        "available Machines of the sets are counted as wanted",
        "core/machinedeployment/rollout.py",
        "return machine_set.status.available_replicas or 0",
        "return machine_set.spec.replicas or 0",
        ROLLOUT,
    ),
    Mutation(
        "existing Machines are taken for wanted ones",
        "core/machinedeployment/rollout.py",
        "return machine_set.status.replicas or 0",
        "return machine_set.spec.replicas or 0",
        ROLLOUT,
    ),
    Mutation(
        "one Machine less may be available",
        "core/machinedeployment/strategies.py",
        "least = max(rollout.desired - max_unavailable(rollout.deployment), 0)",
        "least = max(rollout.desired - max_unavailable(rollout.deployment) - 1, 0)",
        ROLLOUT,
    ),
    Mutation(
        "old sets are never shrunk by available Machines",
        "core/machinedeployment/strategies.py",
        "for unavailable_only in (True, False):",
        "for unavailable_only in (True,):",
        ROLLOUT,
    ),
    Mutation(
        "an old set shrinks by one too many",
        "core/machinedeployment/strategies.py",
        "rollout.scale_to(old, max(now - count, 0), reason)",
        "rollout.scale_to(old, max(now - count - 1, 0), reason)",
        ROLLOUT,
    ),
    Mutation(
        "the new set never begins",
        "core/machinedeployment/strategies.py",
        "    acknowledge_moves(rollout)\n    scale_up_new(rollout)\n",
        "    acknowledge_moves(rollout)\n",
        ROLLOUT,
    ),
    Mutation(
        "old sets stay",
        "core/machinedeployment/strategies.py",
        "    _shrink_old(rollout)\n",
        "    pass\n",
        ROLLOUT,
    ),
    Mutation(
        "maxUnavailable counts although nothing may be unavailable",
        "core/machinedeployment/rollout.py",
        "return min(_fenceposts_of(deployment)[1], replicas)",
        "return min(_fenceposts_of(deployment)[1] + 1, replicas)",
        ROLLOUT,
    ),
    Mutation(
        "maxUnavailable and maxSurge are swapped",
        "core/machinedeployment/rollout.py",
        "return surge, unavailable",
        "return unavailable, surge",
        ROLLOUT,
    ),
    Mutation(
        "maxUnavailable is ignored",
        "core/machinedeployment/rollout.py",
        "return min(_fenceposts_of(deployment)[1], replicas)",
        "return 0",
        ROLLOUT,
    ),
)

MEMBERS: Final = (
    Mutation(
        "a joining member without a name is taken for a stranger",
        "providers/kubeadm/controlplane/etcd_members.py",
        "if _has_joining_machine(plane):",
        "if False:",
        CONTROL_PLANE,
    ),
    Mutation(
        "the unstarted member of a lost Machine stays",
        "providers/kubeadm/controlplane/etcd_members.py",
        "if _has_joining_machine(plane):",
        "if True:",
        CONTROL_PLANE,
    ),
    Mutation(
        "a Machine in deletion holds up the replacement of a lost one",
        "providers/kubeadm/controlplane/loop.py",
        "return await remediate(self._dependencies, self._plane) or DONE",
        "return DONE",
        CONTROL_PLANE,
    ),
    Mutation(
        "the first Machine in deletion is let go without a look at etcd",
        "providers/kubeadm/controlplane/loop.py",
        "if await self.prepare_shutdown(machine):",
        "if True:",
        CONTROL_PLANE,
    ),
    Mutation(
        "the member of a running Machine in deletion counts as lost",
        "providers/kubeadm/controlplane/preflight.py",
        "if machine.deleting and Annotation.KCP_CLEANUP_HOOK in machine.metadata.annotations:",
        "if False:",
        CONTROL_PLANE,
    ),
    Mutation(
        "the member of a lost Machine in deletion counts as running",
        "providers/kubeadm/controlplane/preflight.py",
        "return not has_alarm and _is_ready((plane.nodes or {}).get(member.name))",
        "return not has_alarm",
        CONTROL_PLANE,
    ),
    Mutation(
        "the unstarted member of a lost Machine blocks its replacement",
        "providers/kubeadm/controlplane/preflight.py",
        "if without and not _may_join(plane, members, without):",
        "if False:",
        CONTROL_PLANE,
    ),
    Mutation(
        "etcd does without any member",
        "providers/kubeadm/controlplane/preflight.py",
        "return healthy >= voting // 2 + 1",
        "return True",
        CONTROL_PLANE,
    ),
    Mutation(
        "quorum is counted without the member that leaves",
        "providers/kubeadm/controlplane/preflight.py",
        "remaining = [item for item in members if item.name != without]",
        "remaining = list(members)",
        CONTROL_PLANE,
    ),
    Mutation(
        "the member of a Machine without a Node is left behind",
        "providers/kubeadm/controlplane/etcd_members.py",
        'return unowned[0] if len(unowned) == 1 and all(map(has_node, others)) else ""',
        'return ""',
        CONTROL_PLANE,
    ),
    Mutation(
        "an unsafe member is removed as its Machine goes",
        "providers/kubeadm/controlplane/etcd_members.py",
        "    if not etcd_survives(plane, without=name):\n        return False\n    await move",
        "    await move",
        CONTROL_PLANE,
    ),
    Mutation(
        "a control plane never grows",
        "sdk/control_plane_loop.py",
        "if count < self.desired_replicas + (self.max_surge if outdated else 0):",
        "if count < 0:",
        CONTROL_PLANE,
    ),
    Mutation(
        "a control plane never shrinks",
        "sdk/control_plane_loop.py",
        "elif outdated or count > self.desired_replicas:",
        "elif outdated:",
        CONTROL_PLANE,
    ),
    Mutation(
        "a Machine is added before the former one has joined",
        "sdk/control_plane_loop.py",
        "if self.may_change(None):",
        "if True:",
        CONTROL_PLANE,
    ),
)

MODELS: Final = (*ROLLOUTS, *MEMBERS)
