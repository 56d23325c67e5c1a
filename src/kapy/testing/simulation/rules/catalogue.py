"""All rules, and the referee that checks them."""

from __future__ import annotations

from typing import Final

from kapy.apiserver.store.watch_cache import WriteEvent
from kapy.kube import Document, Key
from kapy.providers.inmemory.workload.cluster import WorkloadCluster
from kapy.testing.simulation.etcd import DurableEtcd
from kapy.testing.simulation.rules.certificates import CERTIFICATE_RULES
from kapy.testing.simulation.rules.hooks import HOOK_RULES
from kapy.testing.simulation.rules.lifecycle import LIFECYCLE_RULES
from kapy.testing.simulation.rules.machines import MACHINE_RULES, largest_desired
from kapy.testing.simulation.rules.restraint import RESTRAINT_RULES, pod_violation
from kapy.testing.simulation.rules.rule import (
    Check,
    Rule,
    RuleContext,
    Violation,
    Write,
    is_deleting,
)
from kapy.testing.simulation.rules.waits import WAIT_RULES
from kapy.testing.simulation.world import World

ETCD_QUORUM: Final = Rule("etcd-quorum", "etcd keeps its quorum, whatever we remove.")
ETCD_SIZE: Final = Rule(
    "etcd-size", "etcd has at most one member more than was desired a moment ago."
)
OTHERS_ETCD: Final = Rule("others-etcd", "Nobody asks or changes an etcd of others.")
NO_FAILURE: Final = Rule("no-failure", "No manager ends by itself.")
ONE_LEADER: Final = Rule("one-leader", "Of the processes of a manager at most one writes.")
PROGRESS: Final = Rule("progress", "Every goal is reached once the faults are over.")
SAME_END: Final = Rule("same-end", "The end is that of the undisturbed run.")
QUIESCENCE: Final = Rule("quiescence", "Nothing is written once all is done.")
NO_HOT_LOOP: Final = Rule("no-hot-loop", "Reconciles and requests stay within a bound.")
IDLE: Final = Rule("idle", "Nobody works while nothing changes.")
MOVED: Final = Rule("moved", "A move loses and creates nothing; one side reconciles.")
CLOUD: Final = Rule("cloud", "The provider's cloud has nothing more, and nothing less.")
PROMPT: Final = Rule("prompt", "Without a fault the goals are reached within the scenario's time.")

RULES: Final[tuple[Rule, ...]] = (
    *MACHINE_RULES,
    *LIFECYCLE_RULES,
    *RESTRAINT_RULES,
    *WAIT_RULES,
    *HOOK_RULES,
    *CERTIFICATE_RULES,
    ETCD_QUORUM,
    ETCD_SIZE,
    OTHERS_ETCD,
    NO_FAILURE,
    ONE_LEADER,
    PROGRESS,
    SAME_END,
    QUIESCENCE,
    NO_HOT_LOOP,
    IDLE,
    PROMPT,
    MOVED,
    CLOUD,
)

MOST: Final = 30
"""The number of violations after which a run is stopped: a hot loop would break rules for
minutes."""
BUDGETS: Final = next(rule for rule in RESTRAINT_RULES if rule.name == "budgets")


class Referee:
    """Checks every write of a world against the rules. violations: the distinct violations."""

    def __init__(self, world: World) -> None:
        self.violations: list[Violation] = []
        self._world = world
        self._context = RuleContext(world)
        self._known: set[tuple[str, str]] = set()
        self._kinds = {resource.group_resource: kind for kind, resource in world.resources.items()}
        self.last_write = 0.0
        world.server.store.listeners.append(self._on_write)
        world.cloud.opened.append(self._on_open)
        world.outside.on_loss.append(self._context.forget)

    def report(self, rule: Rule, text: str) -> None:
        """Record that a rule was broken. text: a description of the violation."""
        if (rule.name, text) not in self._known:
            self._known.add((rule.name, text))
            self._world.trace.add("violation", rule=rule.name, text=text)
            self.violations.append(Violation(rule.name, text, self._world.now()))
            self._world.is_broken = True
            self._world.is_lost = len(self.violations) > MOST

    def finish(self) -> None:
        """Check the state at the end of the run against all rules."""
        for rule in RULES:
            for text in rule.final(self._context) if rule.final else ():
                self.report(rule, text)
        for text in self._world.leaders:
            self.report(ONE_LEADER, text)
        for text in self._world.reports:
            self.report(MOVED, text)
        for text in self._world.failures:
            self.report(NO_FAILURE, text)

    def _on_write(self, event: WriteEvent) -> None:
        kind = self._kinds.get(event.table)
        if kind is None or self._world.backups.is_undoing:
            return
        self.last_write = self._world.now()
        new = None if event.change == "DELETED" else event.document
        write = Write(kind, event.name, event, new, event.previous)
        for rule in RULES:
            if rule.check is not None:
                self._check(rule, rule.check, write)

    def _check(self, rule: Rule, check: Check, write: Write) -> None:
        """Check a write against one rule. The store drops errors of its listeners, so an error of
        the rule itself is reported as a violation.
        """
        try:
            for text in check(self._context, write):
                self.report(rule, text)
        except Exception as error:
            self.report(NO_FAILURE, f"the rule {rule.name} failed: {error!r}")

    def _on_open(self, workload: WorkloadCluster) -> None:
        etcd = workload.etcd
        assert isinstance(etcd, DurableEtcd)
        etcd.changed.append(lambda what: self._on_etcd(workload.key, etcd, what))
        etcd.dialed.append(lambda: self._on_etcd_request(workload.key))
        workload.server.store.listeners.append(lambda event: self._on_pod(workload, event))

    def _on_pod(self, workload: WorkloadCluster, event: WriteEvent) -> None:
        if text := pod_violation(workload, event):
            self.report(BUDGETS, text)

    def _on_etcd(self, cluster: Key, etcd: DurableEtcd, what: str) -> None:
        self._world.trace.add("etcd", cluster=str(cluster), does=what)
        owner, plane = self._owners(cluster)
        if owner is None or is_deleting(owner) or plane is None or is_deleting(plane):
            return
        if _has_others_etcd(plane):
            return
        if not etcd.has_quorum:
            state = f"{etcd.alive} of {len(etcd.members)} members run"
            self.report(ETCD_QUORUM, f"etcd of {cluster.name} lost its quorum ({state}): {what}")
        most = largest_desired(self._context, plane) + 1
        members = etcd.members.keys() - self._context.lost_machines
        if len(members) > max(most, 2) and "joined" in what:
            self.report(ETCD_SIZE, f"etcd has {len(etcd.members)} members, more than {most}")

    def _on_etcd_request(self, cluster: Key) -> None:
        _, plane = self._owners(cluster)
        if plane is not None and _has_others_etcd(plane):
            self.report(OTHERS_ETCD, f"etcd of {cluster.name} was asked, which belongs to others")

    def _owners(self, cluster: Key) -> tuple[Document | None, Document | None]:
        """Return a Cluster and its control plane, None for what does not exist."""
        owner = self._context.view.get("Cluster", cluster.name)
        reference = {} if owner is None else owner["spec"].get("controlPlaneRef") or {}
        return owner, self._context.view.get("KubeadmControlPlane", reference.get("name", ""))


def _has_others_etcd(plane: Document) -> bool:
    spec = plane["spec"].get("kubeadmConfigSpec") or {}
    configuration = spec.get("clusterConfiguration") or {}
    return "external" in (configuration.get("etcd") or {})
