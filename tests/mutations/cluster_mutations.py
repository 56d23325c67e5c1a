"""Bugs of the controllers of Clusters, MachineHealthChecks, ClusterResourceSets, topologies, and of
a Machine's deletion."""

from __future__ import annotations

from typing import Final

from tests.mutations.mutation import Mutation

CHECKS: Final = ("tests/core/machinehealthcheck",)
MACHINES: Final = ("tests/core/machine",)
CLUSTERS: Final = ("tests/core/cluster",)
SETS: Final = ("tests/core/clusterresourceset",)

HEALTH_CHECKS: Final = (
    Mutation(
        "the startup timeout does not begin with the infrastructure",
        "core/machinehealthcheck/checks.py",
        "if ready is not None and ready.status == TRUE:",
        "if False:",
        CHECKS,
    ),
    Mutation(
        "the startup timeout does not begin with the control plane",
        "core/machinehealthcheck/checks.py",
        "began = [surroundings.since, _moment(machine.metadata.creation_timestamp)]",
        "began = [_moment(machine.metadata.creation_timestamp)]",
        CHECKS,
    ),
    Mutation(
        "workers are unhealthy before the control plane is initialized",
        "core/machinehealthcheck/checks.py",
        "if not (surroundings.initialized or is_control_plane(machine)):",
        "if False:",
        CHECKS,
    ),
    Mutation(
        "paused Machines are remediated",
        "core/machinehealthcheck/checks.py",
        "return Annotation.PAUSED in annotations or Annotation.SKIP_REMEDIATION in annotations",
        "return Annotation.SKIP_REMEDIATION in annotations",
        CHECKS,
    ),
    Mutation(
        "remediation goes on at the limit plus one",
        "core/machinehealthcheck/status.py",
        "allowed=unhealthy <= limit)",
        "allowed=unhealthy <= limit + 1)",
        CHECKS,
    ),
    Mutation(
        "a range of unhealthy Machines has no lower end",
        "core/machinehealthcheck/status.py",
        "allowed=lowest <= unhealthy <= highest)",
        "allowed=unhealthy <= highest)",
        CHECKS,
    ),
    Mutation(
        "a deleted Machine is asked to be remediated",
        "core/machinehealthcheck/remediation.py",
        "    if machine.deleting:\n        return Marks()\n",
        "",
        ("tests/core/machinehealthcheck/test_marks.py",),
    ),
    Mutation(
        "what an owner says of a remediation is overwritten",
        "core/machinehealthcheck/remediation.py",
        "if condition is None or condition.status == TRUE:",
        "if True:",
        CHECKS,
    ),
)

NODES: Final = (
    Mutation(
        "the time of a Node's deletion is used up when it begins",
        "remote/nodes.py",
        "NodeDeletion(uid, now)",
        "NodeDeletion(uid, now - timedelta(days=1), LEAST_TRIES)",
        ("tests/core/machine/test_node_deletion.py",),
    ),
    Mutation(
        "attempts that our own back-off kept from the cluster count",
        "core/machine/deletion.py",
        "deletion.tries += not isinstance(error, NotConnected)",
        "deletion.tries += 1",
        ("tests/core/machine/test_node_deletion.py",),
    ),
    Mutation(
        "a pool gives up its Nodes after one attempt",
        "core/machinepool/reconcile.py",
        "if not deletion.is_over(_limit(scope), scope.now, connected=True):",
        "if False:",
        ("tests/core/machinepool",),
    ),
)

DELETION: Final = (
    Mutation(
        "static Pods are evicted",
        "core/machine/drain.py",
        'if MIRROR_POD in (metadata.get("annotations") or {}):',
        "if False:",
        MACHINES,
    ),
    Mutation(
        "Pods of a DaemonSet that is gone stay",
        "core/machine/drain.py",
        "return owner is not None and exists(owner)",
        "return owner is not None",
        MACHINES,
    ),
    Mutation(
        "Pods of a later order are evicted at once",
        "core/machine/drain.py",
        "later = order > turn",
        "later = False",
        MACHINES,
    ),
    Mutation(
        "Pods that end count as gone on a reachable Node",
        "core/machine/drain.py",
        "if context.unreachable and ended and",
        "if ended and",
        MACHINES,
    ),
    Mutation(
        "a drain has no end",
        "core/machine/drain_steps.py",
        "return now - moment(started) >= timedelta(seconds=limit)",
        "return False",
        MACHINES,
    ),
    Mutation(
        "a limit of 0 ends a drain at once",
        "core/machine/drain_steps.py",
        "if started is None or not limit or limit < 0:",
        "if started is None or limit is None or limit < 0:",
        ("tests/core/machine/test_drain_steps.py",),
    ),
    Mutation(
        "the Node is drained after the machine's end has begun",
        "core/machine/drain_steps.py",
        "return isinstance(infrastructure, Found) and not infrastructure.view.deleting",
        "return True",
        ("tests/core/machine/test_drain_steps.py",),
    ),
    Mutation(
        "volumes of Pods that stay are waited for",
        "core/machine/volumes.py",
        "sorted(claims - ignored)",
        "sorted(claims)",
        MACHINES,
    ),
    Mutation(
        "the Node is not cordoned",
        "core/machine/evictions.py",
        'if not (node.get("spec") or {}).get("unschedulable"):',
        "if False:",
        MACHINES,
    ),
    Mutation(
        "the infrastructure goes before the Pods have left",
        "core/machine/deletion.py",
        "    drain_node,\n    detach_volumes,\n    *WITHOUT_NODE,",
        "    *WITHOUT_NODE,\n    drain_node,\n    detach_volumes,",
        MACHINES,
    ),
    Mutation(
        "Nodes of a Cluster that is deleted are drained",
        "core/machine/deletion.py",
        "    if cluster.deleting:\n        return False\n",
        "",
        ("tests/core/machine/test_drain_steps.py",),
    ),
    Mutation(
        "the last control plane Machine is drained",
        "core/machine/deletion.py",
        'and not item["metadata"].get("deletionTimestamp")',
        "",
        MACHINES,
    ),
    Mutation(
        "a Machine goes although its infrastructure is still there",
        "core/machine/deletion.py",
        'f"Waiting for {ref.kind} to be deleted")\n    return DONE',
        'f"Waiting for {ref.kind} to be deleted")\n    return None',
        MACHINES,
    ),
)

CLUSTER: Final = (
    Mutation(
        "a Cluster deletes its control plane before its workers",
        "core/cluster/deletion.py",
        "if names := names_left(scope):",
        "if (names := names_left(scope)) and False:",
        CLUSTERS,
    ),
    Mutation(
        "the infrastructure goes before the control plane",
        "core/cluster/deletion.py",
        ("if not await _is_gone(scope, observed, reason):\n                return DONE"),
        "await _is_gone(scope, observed, reason)",
        CLUSTERS,
    ),
    Mutation(
        "Machines of the control plane provider are deleted with the workers",
        "core/cluster/deletion.py",
        "    if cluster.spec.control_plane_ref is None:\n        children",
        "    if True:\n        children",
        ("tests/core/cluster/test_owned_children.py",),
    ),
    Mutation(
        "objects of another owner are deleted with the Cluster",
        "core/cluster/deletion.py",
        "return [child for child in children if is_owned_by(child, cluster)]",
        "return list(children)",
        ("tests/core/cluster/test_owned_children.py",),
    ),
    Mutation(
        "a known endpoint is overwritten",
        "core/cluster/providers.py",
        "if current.host and current.port:\n        return",
        "if False:\n        return",
        CLUSTERS,
    ),
    Mutation(
        "a provider's object loses its controller to the Cluster",
        "contract/ownership.py",
        'if reference.get("controller") and reference["uid"] != owner.uid:',
        "if False:",
        ("tests/contract/test_ownership.py",),
    ),
)

RESOURCE_SETS: Final = (
    Mutation(
        "ApplyOnce applies again",
        "core/clusterresourceset/delivery.py",
        "return strategy != APPLY_ONCE and binding.hash != source.hash",
        "return binding.hash != source.hash",
        SETS,
    ),
    Mutation(
        "what failed is not applied again",
        "core/clusterresourceset/delivery.py",
        "if binding is None or not binding.applied:",
        "if binding is None:",
        SETS,
    ),
    Mutation(
        "errors tell what a Secret holds",
        "core/clusterresourceset/manifests.py",
        "what = error.reason if secret and isinstance(error, ApiError) else str(error)",
        "what = str(error)",
        SETS,
    ),
    Mutation(
        "an empty selector selects every Cluster",
        "core/clusterresourceset/reconcile.py",
        "    if selector.everything or cluster[",
        "    if cluster[",
        ("tests/core/clusterresourceset/test_decisions.py",),
    ),
    Mutation(
        "a set that goes takes the binding of other sets with it",
        "core/clusterresourceset/reconcile.py",
        'if all(binding["clusterResourceSetName"] == name for binding in bindings):',
        'if any(binding["clusterResourceSetName"] == name for binding in bindings):',
        SETS,
    ),
    Mutation(
        "a binding goes although a hook still holds its Cluster",
        "core/clusterresourcesetbinding/controller.py",
        'return Annotation.OK_TO_DELETE in (metadata.get("annotations") or {})',
        "return True",
        ("tests/core/clusterresourceset/test_decisions.py",),
    ),
    Mutation(
        "Reconcile replaces what the server sets",
        "core/clusterresourceset/manifests.py",
        'if "status" in current:\n        whole["status"] = current["status"]',
        "",
        SETS,
    ),
)

OWNERS: Final = (
    Mutation(
        "a binding whose owners were removed stays without",
        "core/clusterresourceset/controller.py",
        "is_repaired = old is not None and new is not None and _owners(old) != _owners(new)",
        "is_repaired = False",
        SETS,
    ),
    Mutation(
        "an owner reference of an old version stays on a binding",
        "core/clusterresourceset/binding.py",
        "return any((reference.uid, reference.api_version) == wanted for reference in references)",
        "return any(reference.uid == wanted[0] for reference in references)",
        SETS,
    ),
    Mutation(
        "an owner reference of an old version stays on our own kinds",
        "contract/ownership.py",
        "if (reference.uid, reference.api_version) != (wanted.uid, wanted.api_version):",
        "if reference.uid != wanted.uid:",
        ("tests/core/test_owner_references.py", "tests/contract/test_ownership.py"),
    ),
)

TOPOLOGY: Final = (
    Mutation(
        "workers count as upgraded before their kubelets are",
        "core/topology/current_state.py",
        "if has != version or (runs and runs != version):",
        "if has != version:",
        ("tests/core/topology/test_upgrading.py",),
    ),
    Mutation(
        "an object that no topology made is taken over",
        "core/topology/current_state.py",
        "    if not is_owned(document):\n        who",
        "    if False:\n        who",
        ("tests/core/topology",),
    ),
    Mutation(
        "workers upgrade before the control plane is stable",
        "topology/desired/workers.py",
        "or not control_plane.lets_workers_upgrade",
        "",
        ("tests/topology", "tests/core/topology"),
    ),
    Mutation(
        "more workers upgrade at a time than are allowed",
        "topology/desired/workers.py",
        "or upgrade.is_concurrency_reached",
        "",
        ("tests/topology", "tests/core/topology"),
    ),
    Mutation(
        "new workers are made while the control plane is upgraded",
        "topology/desired/workers.py",
        "if is_held or not control_plane.is_stable:",
        "if is_held:",
        ("tests/topology", "tests/core/topology"),
    ),
    Mutation(
        "groups behind one that holds the sequence are upgraded",
        "topology/desired/workers.py",
        "if Annotation.TOPOLOGY_HOLD_UPGRADE_SEQUENCE in sibling.metadata.annotations:",
        "if False:",
        ("tests/topology", "tests/core/topology"),
    ),
)

ALL_CLUSTER_MUTATIONS: Final = (
    *HEALTH_CHECKS,
    *NODES,
    *DELETION,
    *CLUSTER,
    *RESOURCE_SETS,
    *OWNERS,
    *TOPOLOGY,
)
