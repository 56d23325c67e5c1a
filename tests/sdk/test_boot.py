"""Boot data read beside the event loop."""

from __future__ import annotations

import asyncio
import threading

import pytest

from kapy.sdk.boot import BadBootData, BootPlan, boot_plan, for_containers


def test_large_boot_data_is_read_in_another_thread() -> None:
    threads: list[threading.Thread] = []

    def change(plan: BootPlan) -> BootPlan:
        threads.append(threading.current_thread())
        return for_containers(plan)

    small = b"runcmd: [ls]\n"
    large = small + b"#" * 100_000
    # Virtual time runs threads at once: this needs a real loop.
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        plans = [
            runner.run(boot_plan(data, "cloud-config", change=change)) for data in (small, large)
        ]
    assert plans[0] == plans[1]
    assert threads[0] is threading.main_thread()
    assert threads[1] is not threading.main_thread()


async def test_invalid_boot_data_is_refused() -> None:
    with pytest.raises(BadBootData, match="runcmd: the value must be a list"):
        await boot_plan(b"runcmd: ls" + b" " * 100_000, "cloud-config")
