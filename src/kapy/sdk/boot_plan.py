"""Boot data as steps, for infrastructure providers that execute it themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from kapy.kube.boot import BootPlan, read_boot_data

_QUICK: Final = 32 << 10
"""Boot data up to this size, in bytes, is read within a few milliseconds."""


async def boot_plan(
    data: bytes,
    data_format: str,
    *,
    instance: Mapping[str, str] | None = None,
    change: Callable[[BootPlan], BootPlan] | None = None,
) -> BootPlan:
    """Parse boot data into steps (`read_boot_data`) without blocking the event loop.

    change: adapts the steps for the provider, such as `for_containers`; a pure function. Raises
    BadBootData.
    """

    def read() -> BootPlan:
        plan = read_boot_data(data, data_format, instance=instance)
        return change(plan) if change is not None else plan

    return read() if len(data) <= _QUICK else await asyncio.to_thread(read)
