"""Bugs around pools, an etcd of others, volumes, hooks and updates in place."""

from __future__ import annotations

from typing import Final

from tests.mutations.mutation import Mutation

UNDISTURBED: Final = ("tests/testing/simulation/test_undisturbed.py",)

SHAPES: Final = (
    Mutation(
        "an etcd of others is taken for that of the control plane",
        "providers/kubeadm/controlplane/desired.py",
        "return kcp.spec.kubeadm_config_spec.cluster_configuration.etcd.external is None",
        "return True",
        UNDISTURBED,
    ),
    Mutation(
        "no volume is waited for",
        "core/machine/volumes.py",
        "    if not pending:\n        return None\n",
        "    if True:\n        return None\n",
        UNDISTURBED,
    ),
    Mutation(
        "a pool makes a machine under another name after a lost reply",
        "sdk/pool_machines.py",
        "unseen = [name for name in self._reserved.get(context.uid, ()) if name not in value]",
        "unseen = list[str]()",
        ("tests/testing/simulation/test_corpus.py",),
    ),
)

HOOKS: Final = (
    Mutation(
        "a control plane is upgraded although a hook holds it up",
        "topology/desired/control_plane.py",
        "    if not await calls.before_control_plane_upgrade(has, following, inputs.steps):\n",
        "    if await calls.before_control_plane_upgrade(has, following, inputs.steps) is None:\n",
        UNDISTURBED,
    ),
    Mutation(
        "workers are upgraded although a hook holds them up",
        "topology/desired/workers.py",
        "is_held = inputs.calls.is_blocked_by(*_WORKER_HOLD_HOOKS)",
        "is_held = False",
        UNDISTURBED,
    ),
    Mutation(
        "a Cluster is deleted although a hook holds it up",
        "core/topology/reconcile.py",
        "    if await scope.calls.before_cluster_delete():\n",
        "    if await scope.calls.before_cluster_delete() in (True, False):\n",
        UNDISTURBED,
    ),
    Mutation(
        "a Cluster is created although a hook holds it up",
        "core/topology/reconcile.py",
        "    if _is_new(current) and not await scope.calls.before_cluster_create():\n",
        "    if _is_new(current) and await scope.calls.before_cluster_create() is None:\n",
        UNDISTURBED,
    ),
    Mutation(
        "an update in place is over with its first answer",
        "core/machine/in_place.py",
        "        if progress.retry_after <= 0:\n",
        "        if True:\n",
        UNDISTURBED,
    ),
)

OTHER_SHAPES: Final = (*SHAPES, *HOOKS)
