"""The metric families at `/metrics`, with kube-apiserver's names, labels and buckets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kapy.apiserver.metrics.counters import Label, ServerMetrics
from kapy.apiserver.request.limits.max_in_flight import MaxInFlight
from kapy.apiserver.store.store import Store
from kapy.kube.names import split_api_version
from kapy.kube.prometheus import Rows, counter, gauge, histogram

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_WHAT: Final = ("group", "version", "resource", "subresource", "scope", "component")
_COMPONENT: Final = "apiserver"
_BY_RESOURCE: Final = ("group", "resource")
_HOOK: Final = ("name", "type", "operation")
_CONVERSION: Final = ("result", "failure_type")


class Families:
    """The metrics of one server. directory: its data directory, None if it has none."""

    def __init__(
        self, traffic: ServerMetrics, store: Store, inflight: MaxInFlight, directory: Path | None
    ) -> None:
        self._traffic = traffic
        self._store = store
        self._inflight = inflight
        self._directory = directory

    def with_process(self) -> Iterator[Metric]:
        """Yield the metrics of this server and of its process."""
        from prometheus_client import ProcessCollector

        yield from self.collect()
        yield from ProcessCollector(registry=None).collect()

    def describe(self) -> Iterable[Metric]:
        """Return no names, so that registration does not collect the metrics."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield the current metrics."""
        yield from self._requests()
        yield from self._bounds()
        yield from self._storage()
        yield from self._watches()
        yield from self._hooks()
        yield from self._audit()

    def _requests(self) -> Iterator[Metric]:
        tallies = self._traffic.all_request_counters()
        answered = [(label, tally) for label, tally in tallies if tally.codes]
        refused = [(label, tally.refused) for label, tally in tallies if tally.refused]
        totals = [
            ((*_labels_with_dry_run(label), str(code)), count)
            for label, tally in tallies
            for code, count in tally.codes.items()
        ]
        totals += [((*_labels_with_dry_run(label), "429"), count) for label, count in refused]
        yield counter(
            "apiserver_request_total",
            "Requests by verb, dry run, resource, scope and HTTP status code.",
            ["verb", "dry_run", *_WHAT, "code"],
            _sum_by_label(totals),
        )
        yield histogram(
            "apiserver_request_duration_seconds",
            "Seconds from a request's arrival to its answer (of a watch: to its end).",
            ["verb", "dry_run", *_WHAT],
            ((_labels_with_dry_run(label), tally.all_durations()) for label, tally in answered),
        )
        yield histogram(
            "apiserver_request_sli_duration_seconds",
            "As apiserver_request_duration_seconds, without the time that webhooks took.",
            ["verb", *_WHAT],
            (
                (_labels(label), tally.own_durations())
                for label, tally in answered
                if not label.dry_run
            ),
        )
        yield histogram(
            "apiserver_response_sizes",
            "Bytes of the answers to reads over the network.",
            ["verb", *_WHAT],
            ((_labels(label), tally.sizes) for label, tally in tallies if tally.sizes is not None),
        )
        yield counter(
            "apiserver_request_terminations_total",
            "Requests that the server refused in self-defence.",
            ["verb", *_WHAT, "code"],
            (((*_labels(label), "429"), count) for label, count in refused),
        )

    def _bounds(self) -> Iterator[Metric]:
        inflight = self._inflight
        yield gauge(
            "apiserver_current_inflight_requests",
            "The highest number of requests under way over the network since the last scrape.",
            ["request_kind"],
            [(["readOnly"], inflight.reading.peak()), (["mutating"], inflight.mutating.peak())],
        )
        yield gauge(
            "apiserver_longrunning_requests",
            "Watches that go on.",
            ["verb", *_WHAT],
            (
                (_labels(label), tally.open)
                for label, tally in self._traffic.all_request_counters()
                if label.verb == "WATCH"
            ),
        )

    def _storage(self) -> Iterator[Metric]:
        tables = self._store.tables()
        yield gauge(
            "apiserver_resource_objects",
            "Objects that are stored.",
            _BY_RESOURCE,
            ((_group_resource(table.name), len(table)) for table in tables),
        )
        yield gauge(
            "apiserver_storage_objects",
            "Objects that are stored (the older name of apiserver_resource_objects).",
            ["resource"],
            (([table.name], len(table)) for table in tables),
        )
        if self._directory is not None:
            size = sum(file.stat().st_size for file in self._directory.glob("store.db*"))
            yield gauge(
                "apiserver_storage_size_bytes",
                "Bytes of the files of the store.",
                ["storage_cluster_id"],
                [(["sqlite"], size)],
            )

    def _watches(self) -> Iterator[Metric]:
        traffic = self._traffic
        events = [
            ((*split_api_version(version), resource), event)
            for (version, resource), event in traffic.events.items()
        ]
        labels = ("group", "version", "resource")
        yield counter(
            "apiserver_watch_events_total",
            "Events that watchers got.",
            labels,
            ((what, event_counters.count) for what, event_counters in events),
        )
        yield histogram(
            "apiserver_watch_events_sizes",
            "Bytes of JSON of the events that watchers got.",
            labels,
            ((what, event_counters.sizes) for what, event_counters in events),
        )
        for done in ("received", "dispatched"):
            yield counter(
                f"apiserver_watch_cache_events_{done}_total",
                f"Changes that the watch cache {done}.",
                _BY_RESOURCE,
                _by_table(traffic.changes),
            )
        yield counter(
            "apiserver_terminated_watchers_total",
            "Watches that were ended because their readers were too slow.",
            _BY_RESOURCE,
            _by_table(traffic.cut),
        )
        yield gauge(
            "apiserver_watch_cache_resource_version",
            "The resourceVersion up to which reads and watches know everything.",
            _BY_RESOURCE,
            ((_group_resource(table.name), self._store.revision) for table in self._store.tables()),
        )

    def _audit(self) -> Iterator[Metric]:
        audit = self._traffic.audit
        yield counter(
            "apiserver_audit_event_total", "Audit events written.", (), [((), audit.events)]
        )
        yield counter(
            "apiserver_audit_error_total",
            "Audit events that were lost.",
            ["plugin"],
            [(["log"], audit.lost)],
        )
        yield counter(
            "apiserver_audit_level_total",
            "Requests by the level at which they are audited.",
            ["level"],
            (([level], count) for level, count in sorted(audit.levels.items())),
        )

    def _hooks(self) -> Iterator[Metric]:
        hooks = self._traffic.hooks
        webhook = "apiserver_admission_webhook"
        yield counter(
            f"{webhook}_request_total",
            "Admission webhooks that were asked.",
            [*_HOOK, "code", "rejected"],
            hooks.requests.items(),
        )
        yield histogram(
            f"{webhook}_admission_duration_seconds",
            "Seconds that admission webhooks took.",
            [*_HOOK, "rejected"],
            hooks.durations.items(),
        )
        yield gauge(
            f"{webhook}_rejection_count",
            "Writes that admission webhooks, or their failures, refused.",
            [*_HOOK, "error_type", "rejection_code"],
            hooks.rejections.items(),
        )
        yield gauge(
            f"{webhook}_fail_open_count",
            "Failures of admission webhooks that a failurePolicy let pass.",
            ["name", "type"],
            hooks.fail_open.items(),
        )
        yield counter(
            "apiserver_conversion_webhook_request_total",
            "Conversion webhooks that were asked.",
            _CONVERSION,
            hooks.conversion_calls.items(),
        )
        yield histogram(
            "apiserver_conversion_webhook_duration_seconds",
            "Seconds that conversion webhooks took.",
            _CONVERSION,
            hooks.calls.items(),
        )
        yield histogram(
            "apiserver_crd_conversion_webhook_duration_seconds",
            "Seconds that conversions by webhook took, by definition and versions.",
            ["crd_name", "from_version", "to_version", "succeeded"],
            hooks.conversions.items(),
        )


def _labels(label: Label) -> tuple[str, ...]:
    group, version = split_api_version(label.api_version)
    what = (group, version, label.resource, label.subresource, label.scope)
    return label.verb, *what, _COMPONENT if label.resource else ""


def _labels_with_dry_run(label: Label) -> tuple[str, ...]:
    verb, *what = _labels(label)
    return verb, label.dry_run, *what


def _sum_by_label(rows: Iterable[tuple[tuple[str, ...], int]]) -> Rows:
    totals: Counter[tuple[str, ...]] = Counter()
    for labels, count in rows:
        totals[labels] += count
    return sorted(totals.items())


def _group_resource(table: str) -> tuple[str, str]:
    resource, _, group = table.partition(".")
    return group, resource


def _by_table(counts: Counter[str]) -> Rows:
    return ((_group_resource(table), count) for table, count in sorted(counts.items()))
