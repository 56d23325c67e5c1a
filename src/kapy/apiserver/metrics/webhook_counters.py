"""Counters of webhook calls."""

from __future__ import annotations

from collections import Counter
from typing import Final

from kapy.kube.prometheus import Histogram

ADMISSION_BUCKETS: Final = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 25.0)
CONVERSION_BUCKETS: Final = tuple(0.001 * 2**power for power in range(15))
CONVERSION_CALL_BUCKETS: Final = (
    *(0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0),
)
_HIGHEST: Final = 600  # higher codes are not HTTP and would create unlimited labels


class WebhookCounters:
    """Counters of webhook calls. Keys are label values in the order of the metric's labels."""

    __slots__ = (
        "calls",
        "conversion_calls",
        "conversions",
        "durations",
        "fail_open",
        "rejections",
        "requests",
    )

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, ...]] = Counter()
        self.durations: dict[tuple[str, ...], Histogram] = {}
        self.rejections: Counter[tuple[str, ...]] = Counter()
        self.fail_open: Counter[tuple[str, ...]] = Counter()
        self.conversion_calls: Counter[tuple[str, ...]] = Counter()
        self.calls: dict[tuple[str, ...], Histogram] = {}
        self.conversions: dict[tuple[str, ...], Histogram] = {}

    def count_call(
        self, name: str, role: str, operation: str, seconds: float, *, code: int, rejected: bool
    ) -> None:
        """Count a call of an admission webhook. role: `admit` or `validating`."""
        result = "true" if rejected else "false"
        self.requests[name, role, operation, str(min(code, _HIGHEST)), result] += 1
        _observe(self.durations, (name, role, operation, result), ADMISSION_BUCKETS, seconds)

    def count_rejection(self, name: str, role: str, operation: str, error: str, code: int) -> None:
        """Count a write refused by an admission webhook or because of its failure."""
        self.rejections[name, role, operation, error, str(min(code, _HIGHEST))] += 1

    def count_ignored_failure(self, name: str, role: str) -> None:
        """Count a webhook failure that its failurePolicy ignored."""
        self.fail_open[name, role] += 1

    def count_conversion(
        self, definition: str, versions: tuple[str, str], seconds: float, failure: str
    ) -> None:
        """Count a call of a conversion webhook.

        versions: the version before and the version after the conversion. failure: kube-apiserver's
        type of the failure, "" for success.
        """
        key = ("failure" if failure else "success", failure)
        self.conversion_calls[key] += 1
        _observe(self.calls, key, CONVERSION_CALL_BUCKETS, seconds)
        done = "false" if failure else "true"
        _observe(self.conversions, (definition, *versions, done), CONVERSION_BUCKETS, seconds)


def _observe(
    by_label: dict[tuple[str, ...], Histogram],
    key: tuple[str, ...],
    bounds: tuple[float, ...],
    seconds: float,
) -> None:
    histogram = by_label.get(key)
    if histogram is None:
        histogram = by_label[key] = Histogram(bounds)
    histogram.observe(seconds)
