"""Counts the reads of a server's certificate, with the metric names of controller-runtime's
certwatcher."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kapy.kube.errors import KapyError
from kapy.kube.prometheus import counter

if TYPE_CHECKING:
    from prometheus_client.core import Metric


class ReadCounter:
    """Counts of one certificate (a `kapy.kube.prometheus.Collector`)."""

    def __init__(self) -> None:
        self.total = 0
        self.failed = 0

    @contextmanager
    def count(self) -> Iterator[None]:
        """Count one read, and its failure, which is raised again."""
        self.total += 1
        try:
            yield
        except KapyError:
            self.failed += 1
            raise

    def collect(self) -> Iterable[Metric]:
        """The metric families with their current values."""
        for name, what, count in (
            ("certificate", "Reads of the certificate.", self.total),
            ("certificate_errors", "Reads that found nothing to show.", self.failed),
        ):
            yield counter(f"certwatcher_read_{name}_total", what, [], [([], count)])
