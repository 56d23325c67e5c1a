"""Prometheus metrics of the connections to workload clusters, with upstream's names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from kapy.kube.prometheus import counter, gauge
from kapy.remote.cluster_accessor import ClusterAccessor

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_LABELS = ["cluster_name", "cluster_namespace"]


class ClusterAccessorMetrics:
    """Collects the state of each connection."""

    def __init__(self, accessors: Callable[[], Iterable[ClusterAccessor]]) -> None:
        self._links = accessors

    def collect(self) -> Iterator[Metric]:
        """Return the current metric families."""
        accessors = list(self._links())
        yield gauge(
            "capi_cluster_cache_connection_up",
            "Whether there is a connection to the cluster.",
            _LABELS,
            ((_labels(accessor), accessor.client is not None) for accessor in accessors),
        )
        probed = [
            accessor for accessor in accessors if accessor.probes_passed or accessor.probes_failed
        ]
        yield gauge(
            "capi_cluster_cache_healthcheck",
            "Whether the last health probe of the cluster passed.",
            _LABELS,
            ((_labels(accessor), accessor.failures == 0) for accessor in probed),
        )
        yield counter(
            "capi_cluster_cache_healthchecks_total",
            "Health probes of the cluster by status.",
            [*_LABELS, "status"],
            (
                ([*_labels(accessor), status], count)
                for accessor in probed
                for status, count in (
                    ("error", accessor.probes_failed),
                    ("success", accessor.probes_passed),
                )
            ),
        )


def _labels(accessor: ClusterAccessor) -> list[str]:
    return [accessor.cluster.name, accessor.cluster.namespace]
