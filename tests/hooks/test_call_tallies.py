"""Calls, failures and latency of hooks are read from metrics."""

from __future__ import annotations

import pytest

from kapy.hooks.call_tallies import tallies_of


@pytest.mark.parametrize(("bound", "slow"), [(0.1, 0.1), (0.5, 0.5)])
def test_the_latency_of_hooks_is_read_from_the_metrics(bound: float, slow: float) -> None:
    labels = 'host="ext",hook="BeforeClusterUpgrade"'
    text = (
        f'capi_runtime_sdk_requests_total{{code="200",{labels},status="Success"}} 18\n'
        f'capi_runtime_sdk_requests_total{{code="500",{labels},status="Unknown"}} 2\n'
        f'capi_runtime_sdk_request_duration_seconds_bucket{{{labels},le="0.01"}} 10\n'
        f'capi_runtime_sdk_request_duration_seconds_bucket{{{labels},le="{bound}"}} 20\n'
        f"capi_runtime_sdk_request_duration_seconds_sum{{{labels}}} 2\n"
    )
    tally = tallies_of(text)["ext", "BeforeClusterUpgrade"]
    assert (tally.calls, tally.failures, tally.mean, tally.slow) == (20, 2, 0.1, slow)
