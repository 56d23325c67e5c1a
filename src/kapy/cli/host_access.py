"""Shows the host access that a release requests when it is installed on a plane of this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from kapy.cli.working import Steps

if TYPE_CHECKING:
    from kapy.client.client import Client
    from kapy.clusterctl.components import Components
    from kapy.clusterctl.install import How

    Step = Callable[[Sequence[Components]], None]


async def prepared(stack: AsyncExitStack, client: Client, how: How, say: Steps) -> How:
    """The installation options with a step that allows host access, if the plane is on this
    machine."""
    from kapy.apps.local_programs import plane_folder_if_any

    folder = await plane_folder_if_any(client)
    if folder is None:
        return how
    from kapy.apps.released_host_access import host_access_allowed

    return with_step(how, stack.enter_context(host_access_allowed(folder, say)))


def with_step(how: How, step: Step) -> How:
    """The installation options with an additional preparation step."""
    before = how.prepare

    def both(queued: Sequence[Components]) -> None:
        if before is not None:
            before(queued)
        step(queued)

    return replace(how, prepare=both)
