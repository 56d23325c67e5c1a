"""Draining the Node of a Machine that goes away: who must leave, and in which words to wait.

The plan is pure (Pods in, verdicts out); `evictions` carries it out. Pods that belong to the node
itself (DaemonSet Pods, static Pods) stay; a Pod says with the label `cluster.x-k8s.io/drain`
that it is to be skipped or waited for. MachineDrainRules are not read here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum

from kapy.api.names import Label
from kapy.api.times import moment
from kapy.api.wording import shortened
from kapy.kube import Document, Key

MIRROR_POD = "kubernetes.io/config.mirror"
BUDGET_REFUSAL = "annot evict pod as it would violate the pod's disruption budget."


class Verdict(Enum):
    """What happens to a Pod of a Node that is drained."""

    EVICT = "Drain"
    SKIP = "Skip"
    WAIT = "WaitCompleted"


@dataclass(frozen=True, slots=True)
class Planned:
    """The Pods of one Node by verdict, each in the order of namespace and name."""

    evict: Sequence[Document] = ()
    leaving: Sequence[Document] = ()
    wait: Sequence[Document] = ()
    skipped: Sequence[Document] = ()

    @property
    def done(self) -> bool:
        """Nobody has to leave any more."""
        return not (self.evict or self.leaving or self.wait)


def plan_drain(
    pods: Iterable[Document],
    *,
    daemon_sets: Callable[[Key], bool],
    now: datetime,
    unreachable: bool = False,
) -> Planned:
    """Sort the Pods of a Node. daemon_sets: whether a DaemonSet exists (its Pods come back, so
    evicting them is pointless). unreachable: the kubelet cannot end Pods, those told to end more
    than a second ago count as gone."""
    evict, leaving, wait, skipped = [], [], [], []
    for pod in sorted(pods, key=_full_name):
        match verdict(pod, daemon_sets=daemon_sets, now=now, unreachable=unreachable):
            case Verdict.SKIP:
                skipped.append(pod)
            case Verdict.WAIT:
                wait.append(pod)
            case Verdict.EVICT if "deletionTimestamp" in pod["metadata"]:
                leaving.append(pod)
            case Verdict.EVICT:
                evict.append(pod)
    return Planned(evict, leaving, wait, skipped)


def verdict(
    pod: Document,
    *,
    daemon_sets: Callable[[Key], bool],
    now: datetime,
    unreachable: bool = False,
) -> Verdict:
    """What happens to one Pod."""
    metadata = pod["metadata"]
    ended = metadata.get("deletionTimestamp")
    if unreachable and ended and now - moment(ended) >= timedelta(seconds=2):
        return Verdict.SKIP
    if _of_daemon_set(pod, daemon_sets) or MIRROR_POD in (metadata.get("annotations") or {}):
        return Verdict.SKIP
    wanted = (metadata.get("labels") or {}).get(Label.DRAIN, "").lower()
    if wanted == "skip":
        return Verdict.SKIP
    if wanted.replace("-", "", 1) == "waitcompleted":
        return Verdict.WAIT
    return Verdict.EVICT


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

    @property
    def done(self) -> bool:
        return not (self.leaving or self.refused or self.waiting)


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
    return ("Pods " if len(pods) > 1 else "Pod ") + shortened(map(_full_name, pods), 3)


def _full_name(pod: Document) -> str:
    return str(Key.of(pod))
