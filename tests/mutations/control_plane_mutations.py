"""Bugs of the KubeadmControlPlane controller."""

from __future__ import annotations

from typing import Final

from tests.mutations.mutation import Mutation

FOLDER: Final = "tests/providers/kubeadm"
STORY: Final = (
    f"{FOLDER}/test_control_plane_story.py",
    f"{FOLDER}/test_creation_story.py",
    f"{FOLDER}/test_deletion_story.py",
    f"{FOLDER}/test_upgrade_story.py",
)
MEMBERS: Final = (f"{FOLDER}/test_members_story.py",)
HEALTH: Final = (f"{FOLDER}/test_control_plane_health_story.py",)
REMEDIATION: Final = (f"{FOLDER}/test_remediation_story.py",)
ADOPTION: Final = (f"{FOLDER}/test_adoption_story.py",)
PROJECTION: Final = (f"{FOLDER}/test_projection.py",)
CODE: Final = "providers/kubeadm/controlplane"

CHECKS: Final = ("tests/sdk/test_cluster_certificates.py", f"{FOLDER}/test_users_secrets_story.py")

ETCD: Final = (
    Mutation(
        "a settled control plane takes any answer of etcd for the former one",
        f"{CODE}/reconcile.py",
        "return not answer.failure and (",
        "return True or (",
        HEALTH,
    ),
    Mutation(
        "a settled control plane takes Secrets without a label for watched ones",
        f"{CODE}/reconcile.py",
        "period = ETCD_PERIOD if plane.has_unwatched_secrets else FULL_PERIOD",
        "period = FULL_PERIOD",
        HEALTH,
    ),
    Mutation(
        "a settled control plane is never reconciled in full",
        f"{CODE}/reconcile.py",
        "full = result.earlier_of(requeue(after=period, because=because))",
        "full = requeue(after=100 * period, because=because)",
        HEALTH,
    ),
    Mutation(
        "the etcd member of a starting Machine is removed as unknown",
        f"{CODE}/etcd_members.py",
        "if not foreign or not all(map(has_node, plane.machines)):",
        "if not foreign:",
        MEMBERS,
    ),
    Mutation(
        "an etcd member is removed although the quorum may be lost",
        f"{CODE}/etcd_members.py",
        "if stranger.name and not etcd_survives(plane, without=stranger.name):",
        "if False:",
        MEMBERS,
    ),
    Mutation(
        "an etcd member without a Machine stays",
        f"{CODE}/etcd_members.py",
        "await remove_member(dependencies, plane.cluster.key, stranger, plane.nodes or ())",
        "pass",
        MEMBERS,
    ),
    Mutation(
        "quorum is half of the members",
        f"{CODE}/preflight.py",
        "return healthy >= voting // 2 + 1",
        "return healthy >= voting // 2",
        PROJECTION,
    ),
    Mutation(
        "a learner counts as a voting member",
        f"{CODE}/preflight.py",
        "if any(item.is_learner or not item.name for item in remaining):",
        "if any(not item.name for item in remaining):",
        PROJECTION,
    ),
    Mutation(
        "the Machine that leads etcd is deleted without moving the leader",
        f"{CODE}/loop.py",
        "await etcd_members.move_etcd_leader(self._dependencies, self._plane, machine)",
        "pass",
        STORY + MEMBERS,
    ),
    Mutation(
        "a leaving Machine hands leadership to one that is leaving too",
        f"{CODE}/etcd_members.py",
        "if has_node(item) and not item.deleting and item.metadata.uid != leaving.metadata.uid",
        "if has_node(item) and item.metadata.uid != leaving.metadata.uid",
        (f"{FOLDER}/test_leader_candidates.py",),
    ),
    Mutation(
        "a Machine goes with its etcd member still in the cluster",
        f"{CODE}/etcd_members.py",
        "await remove_member(dependencies, plane.cluster.key, member, plane.nodes)",
        "pass",
        STORY,
    ),
    Mutation(
        "a Machine's etcd member is removed before its Node is drained",
        f"{CODE}/etcd_members.py",
        "[item for item in ordered if waits_for_hook(item) and not _has_other_hooks(plane, item)]",
        "[item for item in ordered if not _has_other_hooks(plane, item)]",
        MEMBERS,
    ),
    Mutation(
        "the etcd member goes before other pre-terminate hooks are done",
        f"{CODE}/etcd_members.py",
        "[item for item in ordered if waits_for_hook(item) and not _has_other_hooks(plane, item)]",
        "[item for item in ordered if waits_for_hook(item)]",
        MEMBERS,
    ),
    Mutation(
        "the last etcd member is removed",
        f"{CODE}/etcd_access.py",
        "if len(members) == 1:",
        "if not members:",
        MEMBERS,
    ),
    Mutation(
        "etcd is asked through the member that is removed",
        f"{CODE}/etcd_access.py",
        "others = [name for name in nodes if name != member.name]",
        "others = [member.name, *nodes]",
        MEMBERS,
    ),
)

SCALING: Final = (
    Mutation(
        "a Machine is added while another one is deleted",
        f"{CODE}/preflight.py",
        "if any(machine.deleting for machine in plane.machines):",
        "if False:",
        (f"{FOLDER}/test_preflight.py",),
    ),
    Mutation(
        "a Machine is added although a certificate is missing",
        f"{CODE}/preflight.py",
        "if scale_up and not certificates:",
        "if False:",
        (f"{FOLDER}/test_preflight.py",),
    ),
    Mutation(
        "a Machine without a Node does not hold up the next one",
        f"{CODE}/preflight.py",
        "if not has_node(machine):",
        "if False:",
        (f"{FOLDER}/test_preflight.py",),
    ),
    Mutation(
        "a rollout surges by one more",
        "sdk/control_plane_loop.py",
        "if count < self.desired_replicas + (self.max_surge if outdated else 0):",
        "if count <= self.desired_replicas + (self.max_surge if outdated else 0):",
        STORY,
    ),
    Mutation(
        "every new Machine runs kubeadm init",
        f"{CODE}/loop.py",
        "await create_machine(self._dependencies, plane, join=not first)",
        "await create_machine(self._dependencies, plane, join=False)",
        STORY,
    ),
    Mutation(
        "a retry makes a control plane Machine under another name",
        f"{CODE}/creation.py",
        "slot = (kcp.metadata.generation, remediated, *there, attempt)",
        "slot = (plane.now, remediated, *there, attempt)",
        STORY,
    ),
    Mutation(
        "a clone of another owner is taken for our own",
        f"{CODE}/creation.py",
        'return "deletionTimestamp" in metadata or all(owner["uid"] != uid for owner in owners)',
        'return "deletionTimestamp" in metadata',
        STORY,
    ),
    Mutation(
        "boot data of an earlier Machine is used again",
        f"{CODE}/creation.py",
        "return dependencies.remote.secrets.raw(key) is not None",
        "return False",
        STORY,
    ),
    Mutation(
        "a refused control plane Machine leaves its clones behind",
        "sdk/control_plane_machine_factory.py",
        "await self._delete(created)",
        "pass",
        STORY,
    ),
    Mutation(
        "failure domains are filled without counting Machines that go",
        "sdk/control_plane_rollout.py",
        "return pick_fewest(\n"
        "        domains,\n"
        "        [machine.spec.failure_domain for machine in machines],",
        "return pick_fewest(\n        domains,\n        [],",
        (*STORY, f"{FOLDER}/test_leaving_machine.py"),
    ),
    Mutation(
        "the control plane goes before the workers",
        f"{CODE}/deletion.py",
        "    if workers:\n",
        "    if False:\n",
        STORY,
    ),
    Mutation(
        "the control plane goes before its Machines are gone",
        f"{CODE}/deletion.py",
        "if not plane.machines:",
        "if all(one.deleting for one in plane.machines):",
        STORY,
    ),
)

CONNECTION: Final = (
    Mutation(
        "nobody is told that scaling waits for a connection",
        f"{CODE}/reconcile.py",
        "report_missing_connection(self.dependencies, plane, error)",
        "pass",
        (f"{FOLDER}/test_isolation_story.py",),
    ),
    Mutation(
        "a KubeadmConfig without configuration has an empty spec",
        f"{CODE}/desired.py",
        'if value or key != "spec"',
        "if True",
        STORY,
    ),
    Mutation(
        "the API server of a joining Machine is asked for its certificate",
        f"{CODE}/certificates.py",
        "if not is_true(machine, ConditionType.API_SERVER_POD_HEALTHY):",
        "if False:",
        (f"{FOLDER}/test_certificate_expiry.py",),
    ),
)

REMEDIATIONS: Final = (
    Mutation(
        "the last control plane Machine is remediated",
        f"{CODE}/remediation.py",
        "if len(plane.machines) <= 1:",
        "if not plane.machines:",
        REMEDIATION,
    ),
    Mutation(
        "a second Machine is remediated before the first is replaced",
        f"{CODE}/remediation.py",
        "if machine is None or machine.deleting or in_progress:",
        "if machine is None or machine.deleting:",
        REMEDIATION,
    ),
    Mutation(
        "remediation goes on while a Machine comes up",
        f"{CODE}/remediation.py",
        "if any(map(_is_starting, plane.machines)):",
        "if False:",
        REMEDIATION,
    ),
    Mutation(
        "remediation ignores etcd's quorum",
        f"{CODE}/remediation.py",
        "return not member or etcd_survives(plane, without=member)",
        "return True",
        REMEDIATION,
    ),
    Mutation(
        "one more retry than maxRetry",
        f"{CODE}/remediation_attempts.py",
        "before.retry_count >= spec.max_retry",
        "before.retry_count > spec.max_retry",
        (f"{FOLDER}/test_remediation_attempts.py",),
    ),
    Mutation(
        "a retry does not wait for retryPeriod",
        f"{CODE}/remediation_attempts.py",
        "if before.time + period > now:",
        "if False:",
        (f"{FOLDER}/test_remediation_attempts.py",),
    ),
    Mutation(
        "remediation goes on during a pending upgrade",
        f"{CODE}/remediation.py",
        "version = pending_topology_version(plane)",
        'version = ""',
        REMEDIATION,
    ),
    Mutation(
        "a mark of a finished remediation stays",
        f"{CODE}/remediation.py",
        "began is None or any(creation_time(machine) > began for machine in machines)",
        "began is None",
        REMEDIATION,
    ),
)

ADOPTIONS: Final = (
    Mutation(
        "Machines of another controller are adopted",
        f"{CODE}/adoption.py",
        'return not any(owner.get("controller") for owner in owners)',
        "return owners is not None",
        ADOPTION,
    ),
    Mutation(
        "a control plane that was just deleted adopts its orphans",
        f"{CODE}/adoption.py",
        "if now is None or now.deleting or now.metadata.uid != kcp.metadata.uid:",
        "if now is None:",
        ADOPTION,
    ),
    Mutation(
        "Machines two minor versions away are adopted",
        f"{CODE}/adoption.py",
        "abs(ours.minor - theirs.minor) <= 1",
        "abs(ours.minor - theirs.minor) <= 2",
        ADOPTION,
    ),
    Mutation(
        "adoption takes Secrets of other clusters",
        f"{CODE}/adoption.py",
        "            is_clusters\n            and config",
        "            config",
        ADOPTION,
    ),
    Mutation(
        "adoption takes the boot data of a Machine",
        f"{CODE}/adoption.py",
        'and metadata["name"] != config.status.data_secret_name',
        "",
        ADOPTION,
    ),
)

SECRETS: Final = (
    Mutation(
        "an authority with another key is accepted",
        "sdk/cluster_certificates.py",
        'return "" if is_matching_pair(pair) else _MISMATCH',
        'return ""',
        CHECKS,
    ),
    Mutation(
        "a kubeconfig Secret without a kubeconfig is accepted",
        f"{CODE}/certificates.py",
        "        _access_of(dependencies, cluster, secret)\n",
        "        pass\n",
        CHECKS,
    ),
    Mutation(
        "certificates are made beside one that cannot be used",
        f"{CODE}/certificates.py",
        "    there = await dependencies.certificates.find(cluster, certificates)",
        "    there = await dependencies.certificates.find_or_create(\n"
        "        cluster, certificates, owner_reference(plane.kcp), checked=False\n    )",
        CHECKS,
    ),
    Mutation(
        "a corrected Secret wakes nobody",
        f"{CODE}/controller.py",
        'and old.get("data") == new.get("data"):',
        "and True:",
        CHECKS,
    ),
)

CONTROL_PLANES: Final = (*SECRETS, *ETCD, *SCALING, *CONNECTION, *REMEDIATIONS, *ADOPTIONS)
