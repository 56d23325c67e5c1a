"""Plain counters that are converted to Prometheus metrics at a scrape.

Counting must be very cheap, so programs use their own integers and `Histogram`s; `counter`, `gauge`
and `histogram` convert them. prometheus-client is imported at the first scrape.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from prometheus_client.core import Metric

Rows: TypeAlias = Iterable[tuple[Sequence[str], float]]
"""Label values and the number for them."""


class Collector(Protocol):
    """An object that returns metric families on request."""

    def collect(self) -> Iterable[Metric]:
        """Yield the metric families with their samples."""
        ...


class Histogram:
    """Counts of observed values (seconds, bytes) by upper bound."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count one observed value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value


class Histograms:
    """Histograms with the same bounds, by label values."""

    __slots__ = ("_bounds", "_by_labels")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._by_labels: dict[tuple[str, ...], Histogram] = {}

    def observe(self, labels: tuple[str, ...], value: float) -> None:
        """Count one observed value in the histogram with these label values."""
        label = self._by_labels.get(labels)
        if label is None:
            label = self._by_labels[labels] = Histogram(self._bounds)
        label.observe(value)

    def rows(self) -> list[tuple[tuple[str, ...], Histogram]]:
        """Yield all histograms, ordered by their labels."""
        return sorted(self._by_labels.items(), key=lambda entry: entry[0])


def counter(name: str, help_: str, labels: Sequence[str], rows: Rows) -> Metric:
    """Build a counter family from label values and numbers."""
    from prometheus_client.core import CounterMetricFamily

    return _fill(CounterMetricFamily(name, help_, labels=labels), rows)


def gauge(name: str, help_: str, labels: Sequence[str], rows: Rows) -> Metric:
    """Build a gauge family from label values and numbers."""
    from prometheus_client.core import GaugeMetricFamily

    return _fill(GaugeMetricFamily(name, help_, labels=labels), rows)


def histogram(
    name: str,
    help_: str,
    labels: Sequence[str],
    rows: Iterable[tuple[Sequence[str], Histogram]],
) -> Metric:
    """Build a histogram family from label values and histograms."""
    from prometheus_client.core import HistogramMetricFamily

    family = HistogramMetricFamily(name, help_, labels=labels)
    for values, item in rows:
        bounds = [*map(str, item.bounds), "+Inf"]
        buckets = list(zip(bounds, map(float, accumulate(item.counts)), strict=True))
        family.add_metric(values, buckets=buckets, sum_value=item.sum)
    return family


def text_of(families: Sequence[Metric]) -> bytes:
    """Return families in Prometheus' text format. This can be slow: call it in a thread if
    needed.
    """
    from prometheus_client import generate_latest

    return generate_latest(_StaticRegistry(families))


class _StaticRegistry:
    """Metric families in the form of a registry, for printing."""

    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _fill(family: Any, rows: Rows) -> Metric:
    for values, number in rows:
        family.add_metric(values, number)
    result: Metric = family
    return result
