"""The counters of one controller: plain numbers that a scrape reads.

Incrementing them must be almost free; `kapy.engine.metrics` converts them into Prometheus families.
"""

from __future__ import annotations

from typing import Final, Literal

from kapy.kube.prometheus import Histogram

Outcome = Literal["success", "error", "requeue", "requeue_after"]

RECONCILE_BUCKETS: Final = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8),
    *(0.9, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0),
    *(15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0),
)
QUEUE_BUCKETS: Final = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0)


class Counters:
    """The counters of one controller and its queue.

    bugs: reconciles that failed with an unexpected error.
    """

    __slots__ = ("adds", "bugs", "outcomes", "reconcile", "retries", "waited", "worked")

    def __init__(self) -> None:
        self.outcomes: dict[Outcome, int] = {
            "error": 0,
            "requeue": 0,
            "requeue_after": 0,
            "success": 0,
        }
        self.reconcile = Histogram(RECONCILE_BUCKETS)
        self.waited = Histogram(QUEUE_BUCKETS)
        self.worked = Histogram(QUEUE_BUCKETS)
        self.adds = 0
        self.bugs = 0
        self.retries = 0

    def count_add(self, *, retry: bool) -> None:
        """Count a key that was added to the queue."""
        self.adds += 1
        if retry:
            self.retries += 1

    def count_start(self, waited: float) -> None:
        """Count a key that a worker starts after waiting for so many seconds."""
        self.waited.observe(waited)

    def count_reconcile(self, outcome: Outcome, seconds: float) -> None:
        """Count a finished reconcile."""
        self.outcomes[outcome] += 1
        self.reconcile.observe(seconds)
        self.worked.observe(seconds)
