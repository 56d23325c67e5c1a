"""Installations on a plane of this machine tell which access to it a release asks for."""

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
    """A way to install that allows the access, where the plane is of this machine."""
    from kapy.apps.local_programs import plane_folder_if_any

    folder = await plane_folder_if_any(client)
    if folder is None:
        return how
    from kapy.apps.released_host_access import host_access_allowed

    return with_step(how, stack.enter_context(host_access_allowed(folder, say)))


def with_step(how: How, step: Step) -> How:
    """A way to install with another step of its preparation."""
    before = how.prepare

    def both(queued: Sequence[Components]) -> None:
        if before is not None:
            before(queued)
        step(queued)

    return replace(how, prepare=both)
