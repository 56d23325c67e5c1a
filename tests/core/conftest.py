"""Fixtures of core's stories."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.core.environment import Environment, core_environment


@pytest_asyncio.fixture
async def plane() -> AsyncIterator[Environment]:
    """Core's controllers on a plane of their own."""
    async with core_environment() as running:
        yield running
