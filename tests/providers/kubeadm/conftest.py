"""A control plane with hands that do what other controllers would."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest_asyncio

from tests.providers.kubeadm.hands import Hands, controllers
from tests.providers.kubeadm.plane import running


@pytest_asyncio.fixture
async def hands() -> AsyncIterator[Hands]:
    made: list[Hands] = []
    async with running(controllers(made)), asyncio.TaskGroup() as group:
        work = group.create_task(made[0].work())
        yield made[0]
        work.cancel()
