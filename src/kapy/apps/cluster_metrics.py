"""Metrics of the clusters themselves: waits, etcd members, certificates.

They are read from the caches at a scrape, so they cost nothing in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Final

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.names import ConditionType, Label
from kapy.clusterctl.describe.tree import condition
from kapy.clusterctl.describe.waiting import wait_of
from kapy.engine.runtime import Runtime
from kapy.kube import Document
from kapy.kube.prometheus import gauge

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_CLUSTER: Final = ["cluster_namespace", "cluster_name"]
_MACHINE: Final = [*_CLUSTER, "machine"]


class ClusterMetrics:
    """Reads the caches of a manager (a `kapy.kube.prometheus.Collector`)."""

    def __init__(self, runtime: Runtime) -> None:
        self._clusters = runtime.cache.informer(Cluster)
        self._machines = runtime.cache.informer(Machine)

    def collect(self) -> Iterable[Metric]:
        """Return the current metric families."""
        yield gauge(
            "kapy_cluster_waiting_since_seconds",
            "Unix time since when a Cluster is not as its user wants it, for each that is not.",
            [*_CLUSTER, "reason"],
            self._waits(),
        )
        members, certificates = [], []
        for machine in self._machine_documents():
            labels = _labels_of(machine)
            healthy = condition(machine, ConditionType.ETCD_MEMBER_HEALTHY)
            if healthy is not None:
                members.append((labels, float(healthy.get("status") == "True")))
            ends = _seconds((machine.get("status") or {}).get("certificatesExpiryDate"))
            if ends is not None:
                certificates.append((labels, ends))
        yield gauge(
            "kapy_etcd_member_healthy",
            "1 if the etcd member of a Machine is healthy, as its condition says, else 0.",
            _MACHINE,
            members,
        )
        yield gauge(
            "kapy_machine_certificates_expiry_seconds",
            "Unix time of the end of a Machine's certificates.",
            _MACHINE,
            certificates,
        )

    def _waits(self) -> Iterator[tuple[list[str], float]]:
        keys = self._clusters.keys()
        for key in keys:
            cluster = self._clusters.raw(key)
            wait = None if cluster is None else wait_of(cluster)
            since = None if wait is None else _seconds(wait[0])
            if wait is not None and since is not None:
                yield [key.namespace, key.name, wait[1].partition(":")[0][:60]], since

    def _machine_documents(self) -> Iterator[Document]:
        keys = self._machines.keys()
        for key in keys:
            machine = self._machines.raw(key)
            if machine is not None:
                yield machine


def _labels_of(machine: Document) -> list[str]:
    metadata = machine["metadata"]
    cluster = (metadata.get("labels") or {}).get(Label.CLUSTER_NAME, "")
    return [metadata["namespace"], cluster, metadata["name"]]


def _seconds(text: object) -> float | None:
    """Return a time of the API as Unix time; None if it is not a time."""
    if not isinstance(text, str) or not text:
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
