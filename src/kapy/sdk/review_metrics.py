"""Metrics of webhook requests with controller-runtime's names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Final

from kapy.kube.prometheus import Histograms, counter, gauge, histogram

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_BUCKETS: Final = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0)
_WEBHOOK: Final = ["webhook"]
CONVERSION: Final = "/convert"


class ReviewMetrics:
    """The counters of one application (a `kapy.kube.prometheus.Collector`)."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = sorted(paths)
        self._requests: Counter[tuple[str, ...]] = Counter()
        self._bugs: Counter[bool] = Counter()
        self._under_way: Counter[str] = Counter()
        self._seconds = Histograms(_BUCKETS)

    @contextmanager
    def measure(self, path: str) -> Iterator[None]:
        """Count a running request. Errors are bugs, and are raised through."""
        began = perf_counter()
        self._under_way[path] += 1
        try:
            yield
        except Exception:
            self._bugs[path == CONVERSION] += 1
            self.count_response(path, 500)
            raise
        finally:
            self._under_way[path] -= 1
            self._seconds.observe((path,), perf_counter() - began)

    def count_response(self, path: str, code: int) -> None:
        """Count an answer with its status code."""
        self._requests[str(code), path] += 1

    def collect(self) -> Iterable[Metric]:
        """Return the current metric families."""
        yield counter(
            "controller_runtime_webhook_requests_total",
            "Requests to webhooks by status code.",
            ["code", *_WEBHOOK],
            sorted(self._requests.items()),
        )
        yield histogram(
            "controller_runtime_webhook_latency_seconds",
            "Seconds that webhooks took.",
            _WEBHOOK,
            self._seconds.rows(),
        )
        yield gauge(
            "controller_runtime_webhook_requests_in_flight",
            "Requests that webhooks are answering.",
            _WEBHOOK,
            (([path], self._under_way[path]) for path in self._paths),
        )
        for name, what in (("webhook", False), ("conversion_webhook", True)):
            yield counter(
                f"controller_runtime_{name}_panics_total",
                "Requests that failed for a reason nobody foresaw: bugs.",
                [],
                [([], self._bugs[what])],
            )
