"""Draining the Node of a Machine that goes away: who must leave, and in which words to wait.

The plan is pure (Pods in, verdicts out); `evictions` carries it out. Pods that belong to the node
itself (DaemonSet Pods, static Pods) stay; a Pod says with the label `cluster.x-k8s.io/drain`
that it is to be skipped or waited for, and for all others MachineDrainRules (`drain_rules`) say
what becomes of them, and in which order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, NamedTuple

from kapy.api.names import Label
from kapy.api.times import moment
from kapy.api.wording import shortened
from kapy.kube import Document, Key

MIRROR_POD: Final = "kubernetes.io/config.mirror"
BUDGET_REFUSAL: Final = "annot evict pod as it would violate the pod's disruption budget."
AFTER: Final = "After above Pods have been removed from the Node"
GONE_AFTER: Final = timedelta(seconds=2)
"""How long after its end a Pod of an unreachable Node counts as gone."""


class Verdict(Enum):
    """What happens to a Pod of a Node that is drained."""

    EVICT = "Drain"
    SKIP = "Skip"
    WAIT = "WaitCompleted"


class Fate(NamedTuple):
    """What happens to a Pod, and when: lower orders are gone before the next one begins."""

    verdict: Verdict
    order: int = 0


DRAIN: Final = Fate(Verdict.EVICT)
SKIP: Final = Fate(Verdict.SKIP)
WAIT: Final = Fate(Verdict.WAIT)


@dataclass(slots=True)
class Planned:
    """The Pods of one Node by what is to become of them, each in the order of namespace and name.

    evict, wait: those whose turn it is; evict_later, wait_later: those of higher orders. leaving:
    evicted already, and still there.
    """

    evict: list[Document] = field(default_factory=list)
    evict_later: list[Document] = field(default_factory=list)
    leaving: list[Document] = field(default_factory=list)
    wait: list[Document] = field(default_factory=list)
    wait_later: list[Document] = field(default_factory=list)
    skipped: list[Document] = field(default_factory=list)

    @property
    def done(self) -> bool:
        """Nobody has to leave any more."""
        later = self.evict_later or self.wait_later
        return not (self.evict or self.leaving or self.wait or later)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What the fate of a Pod depends on besides itself.

    daemon_sets: whether a DaemonSet exists (its Pods come back, so evicting them is pointless).
    unreachable: the kubelet cannot end Pods, those told to end more than a second ago count as
    gone. rules: what MachineDrainRules say of a Pod.
    """

    now: datetime
    daemon_sets: Callable[[Key], bool]
    unreachable: bool = False
    rules: Callable[[Document], Fate] = lambda _: DRAIN


def plan_drain(pods: Iterable[Document], given: Circumstances) -> Planned:
    """Sort the Pods of a Node."""
    fates = [(pod, fate(pod, given)) for pod in sorted(pods, key=_full_name)]
    turn = min((one.order for _, one in fates if one.verdict is not Verdict.SKIP), default=0)
    planned = Planned()
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


def fate(pod: Document, given: Circumstances) -> Fate:
    """What happens to one Pod."""
    metadata = pod["metadata"]
    ended = metadata.get("deletionTimestamp")
    if given.unreachable and ended and given.now - moment(ended) >= GONE_AFTER:
        return SKIP
    if _of_daemon_set(pod, given.daemon_sets):
        return SKIP
    if MIRROR_POD in (metadata.get("annotations") or {}):
        return SKIP
    wanted = (metadata.get("labels") or {}).get(Label.DRAIN, "").lower()
    if wanted == "skip":
        return SKIP
    if wanted.replace("-", "", 1) == "waitcompleted":
        return WAIT
    return given.rules(pod)


def daemon_set_of(pod: Document) -> Key | None:
    """The DaemonSet that a running Pod belongs to, by its controller reference."""
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
class Progress:
    """What one round of evictions came to. refused: the server's reason → the Pods."""

    leaving: list[Document] = field(default_factory=list)
    refused: dict[str, list[Document]] = field(default_factory=dict)
    waiting: Sequence[Document] = ()
    evict_later: Sequence[Document] = ()
    wait_later: Sequence[Document] = ()

    @property
    def done(self) -> bool:
        later = self.evict_later or self.wait_later
        return not (self.leaving or self.refused or self.waiting or later)


def progress_message(progress: Progress, started: str) -> str:
    """The message of the Machine's Deleting condition while the drain goes on."""
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
        shown = reason.replace("C" + BUDGET_REFUSAL, "c" + BUDGET_REFUSAL)
        if not shown.startswith("c" + BUDGET_REFUSAL):
            shown = f"failed to evict Pod, {shown}"
        lines.append(f"* {_pods(refused[reason])}: {shown}")
    if others := sum(len(refused[reason]) for reason in reasons[5:]):
        lines.append(f"* {others} Pod{'s' if others > 1 else ''} with other issues")
    return lines


def is_unreachable(node: Document) -> bool:
    """Whether nobody has heard from the Node's kubelet for a while."""
    for condition in (node.get("status") or {}).get("conditions") or []:
        if condition.get("type") == "Ready":
            return bool(condition.get("status") == "Unknown")
    return False


def _pods(pods: Sequence[Document]) -> str:
    return ("Pods " if len(pods) > 1 else "Pod ") + _names(pods)


def _names(pods: Sequence[Document]) -> str:
    return shortened(map(_full_name, pods), 3)


def _full_name(pod: Document) -> str:
    return str(Key.of(pod))
