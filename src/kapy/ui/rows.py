"""One row of the fleet table, computed from a Cluster. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from kapy.clusterctl.describe.tree import conditions
from kapy.clusterctl.describe.waiting import BUSY_REASONS, wait_of
from kapy.kube import Document, Key
from kapy.ui.documents import count_at, is_true, part, text_at

State = Literal["failing", "degraded", "deleting", "provisioning", "updating", "paused", "ready"]
STATES: Final[tuple[State, ...]] = get_args(State)
"""All states; the most urgent one comes first."""

_BLOCKING: Final = re.compile("Following hooks are blocking [^:]*: ")
MAX_TEXT: Final = 400
"""Characters of a message that a row shows; the cluster's page has all of it."""


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """The cells of one cluster.

    control_plane, workers: ready and desired replicas. since, why: the begin of the wait of the
    cluster and its reason, "" for none. changed: the newest transition of a condition. search: all
    searchable text in lower case.
    """

    key: Key
    state: State
    phase: str
    version: str
    class_name: str
    control_plane: tuple[int, int]
    workers: tuple[int, int]
    created: str
    since: str
    why: str
    changed: str
    labels: Mapping[str, str]
    search: str

    @property
    def headline(self) -> str:
        """Return the reason for the wait of the cluster in one line: blocking hooks first,
        connection problems last.
        """
        lines = [line.strip("* ") for line in self.why.split("\n")]
        lines.sort(
            key=lambda line: (
                line.startswith("RemoteConnectionProbe") - ("hooks are blocking" in line)
            )
        )
        text = " · ".join(line.rstrip(":") for line in lines if line)
        return _BLOCKING.sub("Blocked by ", text).removeprefix("NotAvailable · ")


def row_of(cluster: Document) -> ClusterRow:
    """Return the row of a Cluster."""
    since, why = wait_of(cluster) or ("", "")
    key, labels = Key.of(cluster), part(cluster, "metadata", "labels")
    state, version = state_of(cluster), text_at(cluster, "spec", "topology", "version")
    class_name = text_at(cluster, "spec", "topology", "classRef", "name")
    phase = text_at(cluster, "status", "phase") or "Pending"
    pairs = (f"{name}={value}" for name, value in labels.items())
    words = (*key, state, phase, version, class_name, *pairs, why)
    return ClusterRow(
        key=key,
        state=state,
        phase=phase,
        version=version,
        class_name=class_name,
        control_plane=_replicas(cluster, "controlPlane"),
        workers=_replicas(cluster, "workers"),
        created=text_at(cluster, "metadata", "creationTimestamp"),
        since=since,
        why=why[:MAX_TEXT],
        changed=last_change(cluster),
        labels=labels,
        search="\n".join(words).lower(),
    )


def state_of(cluster: Document) -> State:
    """Return the state of a Cluster, the most decisive one first."""
    if is_true(cluster, "Paused"):
        return "paused"
    if cluster["metadata"].get("deletionTimestamp"):
        return "deleting"
    if not is_true(cluster, "Available"):
        initialized = part(cluster, "status", "initialization").get("controlPlaneInitialized")
        return "failing" if initialized else "provisioning"
    is_upgrading = is_true(cluster, "TopologyReconciled", "False")
    if is_upgrading or any(is_true(cluster, reason) for reason in BUSY_REASONS):
        return "updating"
    return "ready" if wait_of(cluster) is None and _has_all(cluster) else "degraded"


def last_change(document: Document) -> str:
    """Return the time of the newest transition of a condition, "" if there is none."""
    times = (str(item.get("lastTransitionTime") or "") for item in conditions(document))
    return max(times, default="")


def _has_all(cluster: Document) -> bool:
    parts = (_replicas(cluster, name) for name in ("controlPlane", "workers"))
    return all(ready >= wanted for ready, wanted in parts)


def _replicas(cluster: Document, name: str) -> tuple[int, int]:
    ready, wanted = (
        count_at(cluster, "status", name, f"{kind}Replicas") for kind in ("ready", "desired")
    )
    return ready, wanted
