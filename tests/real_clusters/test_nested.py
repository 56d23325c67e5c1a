"""The tutorial of a real cluster on an engine in a container."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real_clusters.engine import container_engine
from tests.real_clusters.nested_engine import nested_engine
from tests.real_clusters.test_tutorial import follow

pytestmark = pytest.mark.sockets


async def test_the_tutorial_can_be_followed_with_docker_in_docker(tmp_path: Path) -> None:
    async with (
        container_engine(tmp_path, network=False) as outer,
        nested_engine(outer, tmp_path) as engine,
    ):
        await follow(engine, tmp_path)
