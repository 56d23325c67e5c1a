"""Calls, failures and latency of hooks, from the metrics of a plane or a manager."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

from kapy.client.client import Client
from kapy.hooks.errors import HookError
from kapy.kube.http import Request

REQUESTS: Final = "capi_runtime_sdk_requests_total"
SECONDS: Final = "capi_runtime_sdk_request_duration_seconds"
MAX_METRICS: Final = 32 * 1024 * 1024
"""Bytes of a metrics page that are read."""


@dataclass(slots=True)
class CallTally:
    """The calls of one hook of one host since the plane started."""

    calls: int = 0
    failures: int = 0
    seconds: float = 0.0
    buckets: dict[float, float] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        """Seconds of a call on average."""
        return self.seconds / self.calls if self.calls else 0.0

    @property
    def slow(self) -> float:
        """An upper bound of the seconds of 95 of 100 calls."""
        wanted = 0.95 * self.calls
        return next((bound for bound, n in sorted(self.buckets.items()) if n >= wanted), 0.0)


async def call_tallies(client: Client) -> dict[tuple[str, str], CallTally]:
    """Return the calls by host and hook; none if the client may not read the metrics of the server.

    Raises HookError if they cannot be read, Unreachable.
    """
    reply = await client.transport(Request("GET", "/metrics"))
    if reply.status != 200 or not isinstance(reply.body, bytes) or len(reply.body) > MAX_METRICS:
        return {}
    text = reply.body.decode("utf-8", "replace")
    lines = [line for line in text.split("\n") if "capi_runtime_sdk_request" in line]
    try:
        return await asyncio.to_thread(tallies_of, "\n".join(lines) + "\n")
    except ValueError:
        raise HookError("the metrics of the server cannot be read") from None


def tallies_of(text: str) -> dict[tuple[str, str], CallTally]:
    """Read the metrics of hook calls. Raises ValueError."""
    from prometheus_client.parser import text_string_to_metric_families

    tallies: dict[tuple[str, str], CallTally] = defaultdict(CallTally)
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = sample.labels
            tally = tallies[labels.get("host", ""), labels.get("hook", "")]
            if sample.name == REQUESTS:
                tally.calls += int(sample.value)
                is_success = labels.get("code") == "200" and labels.get("status") == "Success"
                tally.failures += 0 if is_success else int(sample.value)
            elif sample.name == f"{SECONDS}_sum":
                tally.seconds += sample.value
            elif sample.name == f"{SECONDS}_bucket":
                bound = float(labels["le"])
                tally.buckets[bound] = tally.buckets.get(bound, 0.0) + sample.value
    return dict(tallies)
