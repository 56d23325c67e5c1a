"""Ends what a killed plane has left running, where the plane that starts runs no Pods."""

from __future__ import annotations

from kapy.apps.settings import Folder


async def end_orphaned_pods(folder: Folder) -> str:
    """End the programs and remove the containers of all Pods of a plane that does not run.

    Returns a sentence about what remains, or "".
    """
    if not folder.node.is_dir():
        return ""
    from kapy.node_agent.containers.leftovers import remove_all
    from kapy.node_agent.leftovers import end_leftovers

    end_leftovers(folder.node, ())
    return await remove_all(folder.path, folder.node)
