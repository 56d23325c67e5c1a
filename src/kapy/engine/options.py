"""The options of a manager, with the meaning of upstream's flags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from kapy.api.features import DEFAULT_GATES, FeatureGates
from kapy.api.names import Label
from kapy.kube import Document

CONCURRENCY: Final[Mapping[str, int]] = {
    "cluster": 50,
    "clusterclass": 10,
    "clustertopology": 50,
    "clustercache": 100,
    "machine": 100,
    "machineset": 50,
    "machinedeployment": 50,
    "machinepool": 50,
    "machinehealthcheck": 50,
    "clusterresourceset": 10,
    "extensionconfig": 10,
    "kubeadmconfig": 100,
    "kubeadmcontrolplane": 100,
    "devcluster": 50,
    "devmachine": 50,
    "devmachinepool": 100,
}
"""Keys that a controller works on at a time where nothing else is said, by its name; upstream's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerOptions:
    """Options of a manager: the reconciled objects, concurrency and features.

    namespace: the only watched namespace, "" for all. watch_filter: the required value of the label
    `cluster.x-k8s.io/watch-filter`, "" for any object. sync_period: the interval in which every
    object is reconciled without a change, None for never. concurrency: the maximum number of keys
    reconciled at a time, by the name of the controller.
    """

    namespace: str = ""
    watch_filter: str = ""
    sync_period: timedelta | None = None
    concurrency: Mapping[str, int] = field(default_factory=lambda: CONCURRENCY)
    gates: FeatureGates = DEFAULT_GATES

    def selects(self, document: Document) -> bool:
        """Return whether an object has the required label."""
        labels = document["metadata"].get("labels") or {}
        return not self.watch_filter or labels.get(Label.WATCH_FILTER) == self.watch_filter


DEFAULT_OPTIONS: Final = ManagerOptions()
