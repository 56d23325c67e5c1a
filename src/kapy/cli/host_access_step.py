"""Shows the host access that a release requests when it is installed on a plane of this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from kapy.cli.progress import ProgressSteps

if TYPE_CHECKING:
    from kapy.client.client import Client
    from kapy.clusterctl.components import Components
    from kapy.clusterctl.install import InstallOptions

    Step = Callable[[Sequence[Components]], None]


async def with_host_access_step(
    stack: AsyncExitStack, client: Client, options: InstallOptions, steps: ProgressSteps
) -> InstallOptions:
    """Return the installation options with a step that allows host access, if the plane is on this
    machine.
    """
    from kapy.apps.local_programs import plane_folder_if_any

    folder = await plane_folder_if_any(client)
    if folder is None:
        return options
    from kapy.apps.released_host_access import allow_host_access

    return with_step(options, stack.enter_context(allow_host_access(folder, steps)))


def with_step(options: InstallOptions, step: Step) -> InstallOptions:
    """Return the installation options with an additional preparation step."""
    before = options.prepare

    def both(components: Sequence[Components]) -> None:
        if before is not None:
            before(components)
        step(components)

    return replace(options, prepare=both)
