"""Restart policies of containers, and the delays before restarts."""

from __future__ import annotations

import pytest

from kapy.node_agent.container_state import Backoff, Policy, restarts


@pytest.mark.parametrize(
    ("policy", "code", "again"),
    [
        ("Always", 0, True), ("Always", 1, True), ("OnFailure", 0, False),
        ("OnFailure", 1, True), ("Never", 0, False), ("Never", 1, False),
    ],
)  # fmt: skip
def test_the_restart_policy_and_the_exit_code_decide(
    policy: Policy, code: int, *, again: bool
) -> None:
    assert restarts(policy, code) is again


def test_restarts_back_off_until_a_long_run() -> None:
    backoff = Backoff()
    assert [backoff.pause(1.0) for _ in range(8)] == [0, 10, 20, 40, 80, 160, 300, 300]
    assert [backoff.pause(600.0), backoff.pause(1.0)] == [0, 10]
