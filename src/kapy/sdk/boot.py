"""Boot data, for providers that execute it in place of cloud-init, or that write its Secrets.

    plan = await boot_plan(data, data_format, change=for_containers)
    for command in as_commands(plan.steps):
        await machine.run(command.argv, stdin=command.stdin)

`BootstrapSecrets` and `InitLock` are for bootstrap providers with a controller of their own;
`add_bootstrap` uses both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from kapy.kube.boot import (
    BadBootData,
    BootPlan,
    RunCommand,
    WriteFile,
    as_command,
    as_commands,
    for_containers,
    read_boot_data,
)
from kapy.sdk.bootstrap_secrets import BootstrapSecrets
from kapy.sdk.init_lock import InitLock

__all__ = [
    "BadBootData",
    "BootPlan",
    "BootstrapSecrets",
    "InitLock",
    "RunCommand",
    "WriteFile",
    "as_command",
    "as_commands",
    "boot_plan",
    "for_containers",
]

_QUICK: Final = 32 << 10
"""Boot data up to this size, in bytes, is read within a few milliseconds."""


async def boot_plan(
    data: bytes,
    data_format: str,
    *,
    instance: Mapping[str, str] | None = None,
    system: bool = False,
    change: Callable[[BootPlan], BootPlan] | None = None,
) -> BootPlan:
    """Parse boot data into steps (`read_boot_data`) without blocking the event loop.

    system: whether users, NTP servers, disks and mounts become steps, too, for machines that have a
    system of their own. change: adapts the steps for the provider, such as `for_containers`; a pure
    function. Raises BadBootData.
    """

    def read() -> BootPlan:
        plan = read_boot_data(data, data_format, instance=instance, system=system)
        return change(plan) if change is not None else plan

    return read() if len(data) <= _QUICK else await asyncio.to_thread(read)
