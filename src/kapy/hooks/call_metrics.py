"""Metrics of hook calls, with upstream's names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from kapy.hooks.hook import AnyHook
from kapy.kube.prometheus import Histograms, counter, histogram

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_BUCKETS: Final = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0),
    *(10.0, 15.0, 20.0, 30.0, 45.0, 60.0),
)
_HOOK: Final = ["host", "group", "version", "hook"]
NO_CODE: Final = "<error>"
NO_STATUS: Final = "Unknown"


class CallMetrics:
    """Counts the calls of one program (a `kapy.kube.prometheus.Collector`)."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, ...]] = Counter()
        self._seconds = Histograms(_BUCKETS)

    def count_call(self, host: str, hook: AnyHook, code: str, status: str, seconds: float) -> None:
        """Count one request. code: HTTP's, or NO_CODE; status: of the response, or NO_STATUS."""
        self._requests[code, host, hook.group, hook.version, hook.name, status] += 1
        self._seconds.observe((host, hook.group, hook.version, hook.name), seconds)

    def collect(self) -> Iterable[Metric]:
        """Return the current metric families."""
        yield counter(
            "capi_runtime_sdk_requests_total",
            "Requests to extensions by status code, host, hook and status of the response.",
            ["code", *_HOOK, "status"],
            sorted(self._requests.items()),
        )
        yield histogram(
            "capi_runtime_sdk_request_duration_seconds",
            "Seconds that requests to extensions took, by host and hook.",
            _HOOK,
            self._seconds.rows(),
        )
