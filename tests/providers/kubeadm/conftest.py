"""A control plane with peers that do what other controllers would."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest_asyncio

from tests.providers.kubeadm.peer_controllers import PeerControllers, controllers
from tests.providers.kubeadm.plane import running


@pytest_asyncio.fixture
async def peers() -> AsyncIterator[PeerControllers]:
    controllers_of_peers: list[PeerControllers] = []
    async with running(controllers(controllers_of_peers)), asyncio.TaskGroup() as group:
        work = group.create_task(controllers_of_peers[0].work())
        yield controllers_of_peers[0]
        work.cancel()
