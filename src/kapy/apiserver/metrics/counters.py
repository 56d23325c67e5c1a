"""Counters of requests, watches, audit events and webhook calls, optimized for cheap updates."""

from __future__ import annotations

from collections import Counter
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, NamedTuple

from kapy.apiserver.request.request_info import PROBES
from kapy.kube.http import Request
from kapy.kube.prometheus import Histogram

if TYPE_CHECKING:
    from kapy.apiserver.request.routing import Route
    from kapy.apiserver.resources.kind import Kind
    from kapy.apiserver.store.watch_cache import WriteEvent


_SLI_BUCKETS: Final = (
    *(0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0),
    *(15.0, 20.0, 30.0, 45.0, 60.0),
)
_DURATION_BUCKETS: Final = (0.005, 0.025, *_SLI_BUCKETS)
_RESPONSE_BUCKETS: Final = tuple(10.0**power for power in range(3, 10))
_EVENT_BUCKETS: Final = tuple(1024.0 * 2**power for power in range(8))

_APPLY: Final = "application/apply-patch+"
_VERBS: Final = {"create": "POST", "update": "PUT", "deletecollection": "DELETE"}
_METHODS: Final = {item: item for item in ("get", "post", "put", "patch", "delete")} | {
    "head": "get"
}
_OF_ONE: Final = frozenset({"apply", "delete", "get", "patch", "update"})
"""Verbs for the object that the path names."""
_MANY: Final = 1000  # custom kinds come and go

ON_WEBHOOKS: Final[ContextVar[float]] = ContextVar("ON_WEBHOOKS", default=0.0)
"""Seconds that the current request has waited for webhooks, which do not count for the SLI."""


class Label(NamedTuple):
    """The labels of request metrics; `scope` is resource, namespace, cluster or empty."""

    verb: str
    dry_run: str
    api_version: str
    resource: str
    subresource: str
    scope: str


class RequestCounters:
    """The counters of the requests with one set of labels.

    codes: the numbers of requests by response status. durations: the durations of requests without
    webhook calls. waits: the durations of the other requests, including and excluding webhook time.
    sizes: the sizes of responses over the network in bytes. open: the number of active watches.
    refused: the number of requests over the limit, also counted in `codes`.
    """

    __slots__ = ("codes", "durations", "open", "refused", "sizes", "waits")

    def __init__(self) -> None:
        self.codes: dict[int, int] = {}
        self.durations = Histogram(_DURATION_BUCKETS)
        self.waits: tuple[Histogram, Histogram] | None = None
        self.sizes: Histogram | None = None
        self.open = 0
        self.refused = 0

    def count_request(self, status: int, seconds: float) -> None:
        """Count a request that called no webhooks."""
        codes = self.codes
        codes[status] = codes.get(status, 0) + 1
        self.durations.observe(seconds)

    def count_request_with_webhooks(self, status: int, seconds: float, webhooks: float) -> None:
        """Count a request that waited for webhooks for some of the seconds."""
        self.codes[status] = self.codes.get(status, 0) + 1
        if self.waits is None:
            self.waits = Histogram(_DURATION_BUCKETS), Histogram(_SLI_BUCKETS)
        whole, own = self.waits
        whole.observe(seconds)
        own.observe(seconds - webhooks)

    def count_watch(self, seconds: float) -> None:
        """Count a watch that has ended."""
        self.open -= 1
        self.count_request(200, seconds)

    def count_response_size(self, size: int) -> None:
        """Record the size of a response."""
        if self.sizes is None:
            self.sizes = Histogram(_RESPONSE_BUCKETS)
        self.sizes.observe(size)

    def all_durations(self) -> Histogram:
        """Return the durations of requests including webhook time."""
        return _sum(self.durations, self.waits[0]) if self.waits else self.durations

    def own_durations(self) -> Histogram:
        """Return the durations of requests excluding webhook time."""
        histogram = Histogram(_SLI_BUCKETS)
        histogram.sum = self.durations.sum
        finer = len(_DURATION_BUCKETS) - len(_SLI_BUCKETS) + 1
        histogram.counts = [sum(self.durations.counts[:finer]), *self.durations.counts[finer:]]
        return _sum(histogram, self.waits[1]) if self.waits else histogram


def _sum(histogram: Histogram, other: Histogram) -> Histogram:
    result = Histogram(histogram.bounds)
    result.sum = histogram.sum + other.sum
    result.counts = [sum(pair) for pair in zip(histogram.counts, other.counts, strict=True)]
    return result


class WatchEventCounters:
    """The counters of the watch events that were sent for one resource."""

    __slots__ = ("count", "sizes")

    def __init__(self) -> None:
        self.count = 0
        self.sizes = Histogram(_EVENT_BUCKETS)

    def count_event(self, size: int) -> None:
        """Count a watch event. size: the size of its JSON in bytes."""
        self.count += 1
        self.sizes.observe(size)


class AuditCounters:
    """Counters of audit events. levels: the numbers of requests by audit level."""

    __slots__ = ("events", "levels", "lost")

    def __init__(self) -> None:
        self.events = 0
        self.lost = 0
        self.levels: Counter[str] = Counter()

    def count_lost(self, count: int) -> None:
        """Count events that could not be written."""
        self.lost += count


class ServerMetrics:
    """All counters of one server.

    changes: the numbers of committed writes by table. cut: the numbers of watches closed because of
    slow readers, by table.
    """

    __slots__ = ("_plain", "_tallies", "audit", "changes", "cut", "events", "hooks")

    def __init__(self) -> None:
        self._tallies: dict[tuple[str, str, str, str, str, str], RequestCounters] = {}
        self._plain: dict[tuple[Kind, str, str], RequestCounters] = {}
        self.events: dict[tuple[str, str], WatchEventCounters] = {}
        self.changes: Counter[str] = Counter()
        self.cut: Counter[str] = Counter()
        self.hooks = WebhookCounters()
        self.audit = AuditCounters()

    def request_counters(self, request: Request, route: Route | None, verb: str) -> RequestCounters:
        """Return the counters for a request.

        verb: the verb of the API, or the HTTP method of a request for no resource.
        """
        if route is None:
            return self._new_counters(_path_label(request))
        kind = route.kind
        if verb == "patch" and request.headers.get("content-type", "").startswith(_APPLY):
            verb = "apply"
        about_one = route.name if verb in _OF_ONE else verb == "create"
        plain = about_one and "dryRun" not in request.query
        if plain:  # most requests take this fast path
            counters = self._plain.get((kind, verb, route.subresource))
            if counters is not None:
                return counters
        resource = kind.resource
        dry_run = "All" if "dryRun" in request.query else ""
        scope = _scope_of(verb, route.namespace, route.name)
        key = (verb, dry_run, resource.api_version, resource.plural, route.subresource, scope)
        tally = self._new_counters(key)
        if plain:
            if len(self._plain) > _MANY:
                self._plain.clear()
            self._plain[kind, verb, route.subresource] = tally
        return tally

    def _new_counters(self, key: tuple[str, str, str, str, str, str]) -> RequestCounters:
        tally = self._tallies.get(key)
        if tally is None:
            tally = self._tallies[key] = RequestCounters()
        return tally

    def events_of(self, api_version: str, resource: str) -> WatchEventCounters:
        """Return the counters for watch events of a resource."""
        event = self.events.get((api_version, resource))
        if event is None:
            event = self.events[api_version, resource] = WatchEventCounters()
        return event

    def count_write(self, event: WriteEvent) -> None:
        """Count a committed write."""
        self.changes[event.table] += 1

    def all_request_counters(self) -> list[tuple[Label, RequestCounters]]:
        """Return all request counters with their labels."""
        return [
            (Label(_verb_label(verb), *rest), tally)
            for (verb, *rest), tally in self._tallies.items()
        ]


def _scope_of(verb: str, namespace: str, name: str) -> str:
    """Return the scope of a resource request: `resource`, `namespace` or `cluster`."""
    if name or verb == "create":
        return "resource"
    return "namespace" if namespace else "cluster"


def _path_label(request: Request) -> tuple[str, str, str, str, str, str]:
    parts = request.path.split("/", 2)
    page = f"/{parts[1]}" if len(parts) > 1 and parts[1] in PROBES else ""
    method = request.method.lower()
    return _METHODS.get(method, ""), "", "", "", page, ""


def _verb_label(verb: str) -> str:
    return _VERBS.get(verb, verb.upper()) or "other"


_ADMISSION_BUCKETS: Final = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 25.0)
_CONVERSION_BUCKETS: Final = tuple(0.001 * 2**power for power in range(15))
_CONVERSION_CALL_BUCKETS: Final = (
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
        _observe(self.durations, (name, role, operation, result), _ADMISSION_BUCKETS, seconds)

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
        _observe(self.calls, key, _CONVERSION_CALL_BUCKETS, seconds)
        done = "false" if failure else "true"
        _observe(self.conversions, (definition, *versions, done), _CONVERSION_BUCKETS, seconds)


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
