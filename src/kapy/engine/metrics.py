"""Prometheus metrics with the names of controller-runtime, client-go and Cluster API.

Nothing is stored here: a scrape reads the counters of controllers, queues and transports.
prometheus-client is imported when the registry is first requested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from kapy.client.intercept import NO_ANSWER, RequestCounter
from kapy.engine.controller import Controller
from kapy.engine.ssa_cache import SSACache
from kapy.kube.prometheus import Collector, Rows, counter, gauge, histogram

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric

_BY_CONTROLLER = ["controller"]
_BY_QUEUE = ["controller", "name"]


class Metrics:
    """The Prometheus metrics of one program, collected from its controllers and transports."""

    def __init__(self, requests: RequestCounter | None = None) -> None:
        self._controllers: list[Controller] = []
        self._requests = [] if requests is None else [requests]
        self._others: list[Collector] = []
        self._applied: list[SSACache] = []
        self._registry: CollectorRegistry | None = None

    def measure(self, controller: Controller) -> None:
        """Export the metrics of a controller and its queue."""
        self._controllers.append(controller)

    def count(self, requests: RequestCounter) -> None:
        """Export the request metrics of a transport."""
        self._requests.append(requests)

    def remember(self, applied: SSACache) -> SSACache:
        """Export the hits and misses of an SSA cache."""
        self._applied.append(applied)
        return applied

    def add(self, collector: Collector) -> None:
        """Export the metrics of another collector."""
        self._others.append(collector)

    @property
    def registry(self) -> CollectorRegistry:
        """Return the Prometheus registry that has only the metrics of this program."""
        if self._registry is None:
            from prometheus_client import CollectorRegistry

            self._registry = CollectorRegistry()
            self._registry.register(self)
        return self._registry

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        from prometheus_client import generate_latest

        return generate_latest(self.registry)

    def describe(self) -> Iterable[Metric]:
        """Return no descriptions, so that registration does not collect the metrics."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Return the current metric families."""
        yield from self._reconciles()
        yield from self._queues()
        yield counter(
            "rest_client_requests_total",
            "Requests by status code, method and host.",
            ["code", "host", "method"],
            _requests(self._requests),
        )
        if self._applied:
            yield from self._applies()
        for collector in self._others:
            yield from collector.collect()

    def _applies(self) -> Iterator[Metric]:
        def rows(counts: Callable[[SSACache], Counter[str]]) -> Rows:
            for ssa_cache in self._applied:
                for kind, count in sorted(counts(ssa_cache).items()):
                    yield [kind, ssa_cache.controller], count

        labels = ["kind", "controller"]
        hits, misses = (
            rows(lambda ssa_cache: ssa_cache.hits),
            rows(lambda ssa_cache: ssa_cache.misses),
        )
        yield counter("capi_ssa_cache_hits_total", "Applies known to change nothing.", labels, hits)
        yield counter(
            "capi_ssa_cache_misses_total", "Applies not known to change nothing.", labels, misses
        )

    def _reconciles(self) -> Iterator[Metric]:
        controllers = self._controllers

        def outcomes() -> Iterator[tuple[list[str], float]]:
            for controller in controllers:
                for outcome, count in controller.counters.outcomes.items():
                    yield [controller.name, outcome], count

        def rows(value: Callable[[Controller], float]) -> Iterator[tuple[list[str], float]]:
            return (([controller.name], value(controller)) for controller in controllers)

        for prefix in ("controller_runtime", "capi"):
            yield counter(
                f"{prefix}_reconcile_total",
                "Reconciliations by result.",
                [*_BY_CONTROLLER, "result"],
                outcomes(),
            )
            yield histogram(
                f"{prefix}_reconcile_time_seconds",
                "Seconds that a reconciliation took.",
                _BY_CONTROLLER,
                (([controller.name], controller.counters.reconcile) for controller in controllers),
            )
        yield counter(
            "controller_runtime_reconcile_errors_total",
            "Reconciliations that failed.",
            _BY_CONTROLLER,
            rows(lambda controller: controller.counters.outcomes["error"]),
        )
        yield counter(
            "controller_runtime_reconcile_panics_total",
            "Reconciliations that failed for a reason nobody foresaw: bugs.",
            _BY_CONTROLLER,
            rows(lambda controller: controller.counters.bugs),
        )
        # Reconciles have no deadlines, and all errors are retried.
        for name, what in (
            ("terminal_reconcile_errors", "with no hope"),
            ("reconcile_timeouts", "for time"),
        ):
            yield counter(
                f"controller_runtime_{name}_total",
                f"Reconciliations that were given up {what}.",
                _BY_CONTROLLER,
                rows(lambda _: 0),
            )
        yield gauge(
            "controller_runtime_active_workers",
            "Workers that are reconciling.",
            _BY_CONTROLLER,
            rows(lambda controller: len(controller.queue.running)),
        )
        yield gauge(
            "controller_runtime_max_concurrent_reconciles",
            "Workers that there are.",
            _BY_CONTROLLER,
            rows(lambda controller: controller.concurrency),
        )

    def _queues(self) -> Iterator[Metric]:
        controllers = self._controllers

        def rows(value: Callable[[Controller], float]) -> Iterator[tuple[list[str], float]]:
            return (
                ([controller.name, controller.name], value(controller))
                for controller in controllers
            )

        def depths() -> Iterator[tuple[list[str], float]]:
            for controller in controllers:
                for priority, depth in sorted(({0: 0} | controller.queue.by_priority()).items()):
                    yield [controller.name, controller.name, str(priority)], depth

        yield gauge(
            "workqueue_depth", "Keys that wait for a worker.", [*_BY_QUEUE, "priority"], depths()
        )
        yield counter(
            "workqueue_adds_total",
            "Keys that were put in the queue.",
            _BY_QUEUE,
            rows(lambda controller: controller.counters.adds),
        )
        yield counter(
            "workqueue_retries_total",
            "Keys that were put in the queue by a timer.",
            _BY_QUEUE,
            rows(lambda controller: controller.counters.retries),
        )
        yield gauge(
            "workqueue_unfinished_work_seconds",
            "Seconds that the running reconciliations have taken so far, together.",
            _BY_QUEUE,
            rows(lambda controller: sum(controller.queue.running_for())),
        )
        yield gauge(
            "workqueue_longest_running_processor_seconds",
            "Seconds that the longest running reconciliation has taken so far.",
            _BY_QUEUE,
            rows(lambda controller: max(controller.queue.running_for(), default=0.0)),
        )
        yield histogram(
            "workqueue_queue_duration_seconds",
            "Seconds that a key waited for a worker.",
            _BY_QUEUE,
            (
                ([controller.name, controller.name], controller.counters.waited)
                for controller in controllers
            ),
        )
        yield histogram(
            "workqueue_work_duration_seconds",
            "Seconds that the work on a key took.",
            _BY_QUEUE,
            (
                ([controller.name, controller.name], controller.counters.worked)
                for controller in controllers
            ),
        )


def _requests(counted: Iterable[RequestCounter]) -> Rows:
    """Count requests by client-go's labels: a watch is a GET, and a request without a response has
    the code `<error>`.
    """
    totals: Counter[tuple[str, str, str]] = Counter()
    for request_counter in counted:
        for (method, status), count in request_counter.counts.items():
            code = "<error>" if status == NO_ANSWER else str(status)
            totals[code, request_counter.host, "GET" if method == "WATCH" else method] += count
    return ((list(labels), count) for labels, count in sorted(totals.items()))
