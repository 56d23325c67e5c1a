"""Removes a plane's containers whose Pods, or whose plane, are gone."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

from kapy.containers import Engine, EngineError
from kapy.node_agent.containers import addresses
from kapy.node_agent.containers.names import PLANE, POD_UID, network_name
from kapy.node_agent.containers.network import NAME, read_used


async def remove(engine: Engine, plane: Path, uids: Container[str]) -> int:
    """Remove the containers of a plane, except for those of Pods with known UIDs.

    Returns the number of removed containers. Raises EngineError.
    """
    count = 0
    for item in await engine.containers({PLANE: str(plane)}):
        if item.labels.get(POD_UID, "") not in uids:
            count += await engine.remove(item.id)
    return count


async def remove_all(plane: Path, agent: Path) -> str:
    """Remove the containers and the network of a plane from its engine. plane, agent: their
    folders.

    Returns a sentence about what could not be removed, "" if all was removed.
    """
    used = read_used(agent)
    if used is None:
        return ""
    async with Engine(used.engine) as engine:
        try:
            await remove(engine, plane, ())
            network = await engine.network(network_name(plane))
            if network is not None and network.labels.get(PLANE) == str(plane):
                await engine.remove_network(network.name)
        except EngineError as error:
            return (
                f"its containers are left in the engine: {error}; remove them with "
                f"`docker rm -f $(docker ps -aq --filter label={PLANE}={plane})`"
            )
    for name in (NAME, addresses.NAME):
        (agent / name).unlink(missing_ok=True)
    return ""
