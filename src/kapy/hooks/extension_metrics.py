"""Metrics of an extension's responses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from kapy.hooks.extension import AnyRoute
from kapy.kube.prometheus import Histograms, counter, histogram

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_BUCKETS: Final = (0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0)
_HANDLER: Final = ["handler", "hook", "version"]


class ExtensionMetrics:
    """Counts the responses of one extension (a `kapy.kube.prometheus.Collector`)."""

    def __init__(self) -> None:
        self._answers: Counter[tuple[str, ...]] = Counter()
        self._seconds = Histograms(_BUCKETS)

    def count_response(self, route: AnyRoute, status: str, seconds: float) -> None:
        """Count one response."""
        which = (route.name, route.hook.name, route.hook.version)
        self._answers[*which, status] += 1
        self._seconds.observe(which, seconds)

    def collect(self) -> Iterable[Metric]:
        """Return the current metric families."""
        yield counter(
            "kapy_extension_requests_total",
            "Requests that were answered, by handler, hook, its version and the answer's status.",
            [*_HANDLER, "status"],
            sorted(self._answers.items()),
        )
        yield histogram(
            "kapy_extension_request_duration_seconds",
            "Seconds that answers took, by handler, hook and its version.",
            _HANDLER,
            self._seconds.rows(),
        )
