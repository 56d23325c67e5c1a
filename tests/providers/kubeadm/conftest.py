"""A control plane with hands that do what other controllers would."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest_asyncio

from tests.providers.kubeadm.hands import Hands, controllers
from tests.providers.kubeadm.plane import running


@pytest_asyncio.fixture
async def hands() -> AsyncIterator[Hands]:
    handses: list[Hands] = []
    async with running(controllers(handses)), asyncio.TaskGroup() as group:
        work = group.create_task(handses[0].work())
        yield handses[0]
        work.cancel()
