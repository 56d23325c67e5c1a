"""Fixtures of core's stories."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.core.stage import Stage, stage


@pytest_asyncio.fixture
async def plane() -> AsyncIterator[Stage]:
    """Core's controllers on a plane of their own."""
    async with stage() as running:
        yield running
