"""Plan the drain of a Machine's Node: which Pods to evict or wait for, and the messages.

The plan is pure (Pods in, dispositions out); `evictions` executes it. Pods that belong to the Node
itself (DaemonSet Pods, static Pods) stay. The Pod label `cluster.x-k8s.io/drain` skips a Pod or
waits for it; for all other Pods the users' MachineDrainRules define disposition and order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, NamedTuple

from kapy.api.cluster import Cluster
from kapy.api.embedded import LabelSelector
from kapy.api.machine import Machine
from kapy.api.machine_drain_rule import MachineDrainRule
from kapy.api.names import Label
from kapy.api.times import moment
from kapy.api.validation.machine_drain_rule import drain_rule_selector_errors
from kapy.api.wording import shorten
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.model import encode
from kapy.kube.selectors import EVERYTHING, selector_of
from kapy.kube.selectors import LabelSelector as Selector

MIRROR_POD: Final = "kubernetes.io/config.mirror"
_BUDGET_REFUSAL: Final = "annot evict pod as it would violate the pod's disruption budget."
AFTER: Final = "After above Pods have been removed from the Node"
GONE_AFTER: Final = timedelta(seconds=2)
"""The time after its end at which a Pod of an unreachable Node counts as gone."""

_Labels = Mapping[str, str]


class Verdict(Enum):
    """The treatment of a Pod on a Node that is drained: evict it, leave it, or wait for its end."""

    EVICT = "Drain"
    SKIP = "Skip"
    WAIT = "WaitCompleted"


class PodDisposition(NamedTuple):
    """The treatment of a Pod and its order: Pods of lower orders must be gone first."""

    verdict: Verdict
    order: int = 0


DRAIN: Final = PodDisposition(Verdict.EVICT)
SKIP: Final = PodDisposition(Verdict.SKIP)
WAIT: Final = PodDisposition(Verdict.WAIT)


@dataclass(slots=True)
class DrainPlan:
    """The Pods of one Node by disposition, sorted by namespace and name.

    evict, wait: the Pods of the current order; evict_later, wait_later: the Pods of higher orders.
    leaving: evicted Pods that are not gone yet.
    """

    evict: list[Document] = field(default_factory=list)
    evict_later: list[Document] = field(default_factory=list)
    leaving: list[Document] = field(default_factory=list)
    wait: list[Document] = field(default_factory=list)
    wait_later: list[Document] = field(default_factory=list)
    skipped: list[Document] = field(default_factory=list)

    @property
    def done(self) -> bool:
        """Return whether no Pod has to leave any more."""
        later = self.evict_later or self.wait_later
        return not (self.evict or self.leaving or self.wait or later)


@dataclass(frozen=True, slots=True)
class DrainContext:
    """The inputs of a Pod's disposition besides the Pod.

    now: the time by the clock of the workload cluster's API server, which dates Pods.
    daemon_sets: whether a DaemonSet exists (its Pods would be recreated, so evicting them is
    pointless). unreachable: the kubelet cannot end Pods; those deleted more than a second ago count
    as gone. rules: returns the disposition by MachineDrainRules.
    """

    now: datetime
    daemon_sets: Callable[[Key], bool]
    unreachable: bool = False
    rules: Callable[[Document], PodDisposition] = lambda _: DRAIN


def plan_drain(pods: Iterable[Document], context: DrainContext) -> DrainPlan:
    """Sort the Pods of a Node by disposition."""
    fates = [(pod, pod_disposition(pod, context)) for pod in sorted(pods, key=_full_name)]
    turn = min((entry.order for _, entry in fates if entry.verdict is not Verdict.SKIP), default=0)
    planned = DrainPlan()
    for pod, (verdict, order) in fates:
        later = order > turn
        match verdict:
            case Verdict.SKIP:
                planned.skipped.append(pod)
            case Verdict.WAIT:
                (planned.wait_later if later else planned.wait).append(pod)
            case Verdict.EVICT if "deletionTimestamp" in pod["metadata"]:
                planned.leaving.append(pod)
            case Verdict.EVICT:
                (planned.evict_later if later else planned.evict).append(pod)
    return planned


def pod_disposition(pod: Document, context: DrainContext) -> PodDisposition:
    """Return whether a Pod is evicted, skipped or waited for in a drain, and in which order."""
    metadata = pod["metadata"]
    ended = metadata.get("deletionTimestamp")
    if context.unreachable and ended and context.now - moment(ended) >= GONE_AFTER:
        return SKIP
    if _of_daemon_set(pod, context.daemon_sets):
        return SKIP
    if MIRROR_POD in (metadata.get("annotations") or {}):
        return SKIP
    wanted = (metadata.get("labels") or {}).get(Label.DRAIN, "").lower()
    if wanted == "skip":
        return SKIP
    if wanted.replace("-", "", 1) == "waitcompleted":
        return WAIT
    return context.rules(pod)


def daemon_set_of(pod: Document) -> Key | None:
    """Return the DaemonSet of a running Pod, by its controller reference."""
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return None
    for owner in pod["metadata"].get("ownerReferences") or []:
        if owner.get("controller") and owner["kind"] == "DaemonSet":
            return Key(pod["metadata"].get("namespace", ""), owner["name"])
    return None


def _of_daemon_set(pod: Document, exists: Callable[[Key], bool]) -> bool:
    owner = daemon_set_of(pod)
    return owner is not None and exists(owner)


@dataclass(slots=True)
class DrainProgress:
    """The result of one round of evictions. refused: the server's reason → the Pods."""

    leaving: list[Document] = field(default_factory=list)
    refused: dict[str, list[Document]] = field(default_factory=dict)
    waiting: Sequence[Document] = ()
    evict_later: Sequence[Document] = ()
    wait_later: Sequence[Document] = ()

    @property
    def done(self) -> bool:
        later = self.evict_later or self.wait_later
        return not (self.leaving or self.refused or self.waiting or later)


def progress_message(progress: DrainProgress, started: str) -> str:
    """Return the message of the Machine's Deleting condition during the drain."""
    lines = [f"Drain not completed yet (started at {started}):"]
    if progress.leaving:
        lines.append(
            f"* {_pods(progress.leaving)}: "
            "deletionTimestamp set, but still not removed from the Node"
        )
    lines += _refusals(progress.refused)
    if progress.waiting:
        lines.append(f"* {_pods(progress.waiting)}: waiting for completion")
    if progress.evict_later:
        lines.append(f"{AFTER}, the following Pods will be evicted: {_names(progress.evict_later)}")
    if progress.wait_later:
        lines.append(
            f"{AFTER}, waiting for the following Pods to complete without eviction: "
            f"{_names(progress.wait_later)}"
        )
    return "\n".join(lines)


def _refusals(refused: Mapping[str, Sequence[Document]]) -> list[str]:
    reasons = sorted(refused)
    lines = []
    for reason in reasons[:5]:
        result = reason.replace("C" + _BUDGET_REFUSAL, "c" + _BUDGET_REFUSAL)
        if not result.startswith("c" + _BUDGET_REFUSAL):
            result = f"failed to evict Pod, {result}"
        lines.append(f"* {_pods(refused[reason])}: {result}")
    if others := sum(len(refused[reason]) for reason in reasons[5:]):
        lines.append(f"* {others} Pod{'s' if others > 1 else ''} with other issues")
    return lines


def is_unreachable(node: Document) -> bool:
    """Return whether the Node's kubelet has been silent for a while."""
    for condition in (node.get("status") or {}).get("conditions") or []:
        if condition.get("type") == "Ready":
            return bool(condition.get("status") == "Unknown")
    return False


def _pods(pods: Sequence[Document]) -> str:
    return ("Pods " if len(pods) > 1 else "Pod ") + _names(pods)


def _names(pods: Sequence[Document]) -> str:
    return shorten(map(_full_name, pods), 3)


def _full_name(pod: Document) -> str:
    return str(Key.of(pod))


class InvalidRule(KapyError):
    """A MachineDrainRule is invalid, so that the Pods which it protects are unknown."""


@dataclass(frozen=True, slots=True)
class PodRule:
    """One MachineDrainRule in the form in which it is evaluated.

    fate: the disposition of the Pods that match. pods: pairs of a selector for the labels of a Pod
    and one for the labels of its namespace. A Pod matches if a pair selects it; without pairs every
    Pod matches.
    """

    fate: PodDisposition
    pods: tuple[tuple[Selector, Selector], ...]

    def matches(self, pod: _Labels | None, namespace: _Labels | None) -> bool:
        """Return whether the rule applies to a Pod with these labels in a namespace with these
        labels.
        """
        if not self.pods:
            return True
        return any(
            own.matches(pod) and label_selector.matches(namespace)
            for own, label_selector in self.pods
        )


@dataclass(frozen=True, slots=True)
class DrainRules:
    """The rules for one Machine, by name: the first one that matches a Pod applies."""

    rules: tuple[PodRule, ...] = ()

    @property
    def needs_namespaces(self) -> bool:
        """Return whether a rule depends on namespace labels."""
        return any(
            not label_selector.everything for rule in self.rules for _, label_selector in rule.pods
        )

    def disposition_of(
        self, namespaces: Mapping[str, _Labels]
    ) -> Callable[[Document], PodDisposition]:
        """Return a function for the disposition of a Pod. namespaces: the labels of each."""

        def fate(pod: Document) -> PodDisposition:
            metadata = pod["metadata"]
            own, namespace = metadata.get("labels"), namespaces.get(metadata.get("namespace", ""))
            return next((rule.fate for rule in self.rules if rule.matches(own, namespace)), DRAIN)

        return fate


def rules_for(machine: Machine, cluster: Cluster, rules: Iterable[MachineDrainRule]) -> DrainRules:
    """Return the rules in the Machine's namespace that apply to it. Raises InvalidRule."""
    result = sorted(rules, key=lambda rule: rule.metadata.name)
    for rule in result:
        if errors := drain_rule_selector_errors(rule):
            value = "; ".join(map(str, errors))
            raise InvalidRule(
                f"invalid selectors in MachineDrainRule {rule.metadata.name}: {value}"
            )
    return DrainRules(tuple(_pod_rule(rule) for rule in result if _applies(rule, machine, cluster)))


def _applies(rule: MachineDrainRule, machine: Machine, cluster: Cluster) -> bool:
    if not rule.spec.machines:
        return True
    return any(
        _selector(selector.selector).matches(machine.metadata.labels)
        and _selector(selector.cluster_selector).matches(cluster.metadata.labels)
        for selector in rule.spec.machines
    )


def _pod_rule(rule: MachineDrainRule) -> PodRule:
    drain = rule.spec.drain
    try:
        verdict = Verdict(drain.behavior)
    except ValueError:
        raise InvalidRule(
            f'MachineDrainRule "{rule.metadata.name}" has unknown spec.drain.behavior: '
            f'"{drain.behavior}"'
        ) from None
    order = (drain.order or 0) if verdict is Verdict.EVICT else 0
    pods = tuple(
        (_selector(pod.selector), _selector(pod.namespace_selector)) for pod in rule.spec.pods
    )
    return PodRule(PodDisposition(verdict, order), pods)


def _selector(selector: LabelSelector | None) -> Selector:
    """Return the selector; here a missing one selects everything, as an empty one does."""
    return EVERYTHING if selector is None else selector_of(encode(selector))
