"""A plane that runs no Pods ends those that a killed one has left."""

from __future__ import annotations

from pathlib import Path

import pytest

from kapy.apps.orphaned_pods import end_orphaned_pods
from kapy.apps.settings import Folder
from kapy.node_agent.containers.network import Used, write_used
from tests.node_agent.test_adoption import started
from tests.waiting import until

pytestmark = pytest.mark.sockets


async def test_programs_end_and_the_remaining_ones_are_reported(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.node.mkdir()
    async with started(folder.node) as record:
        assert await end_orphaned_pods(folder) == ""
        await until(lambda: not record.is_alive)
        assert not (folder.node / "pods" / "u-1").exists()
    write_used(folder.node, Used(f"unix://{tmp_path}/nobody.sock", 1))
    pods = await end_orphaned_pods(folder)
    assert "its containers are left in the engine" in pods
    assert "docker rm -f" in pods
    assert folder.containers.exists(), "the next start tries again"


async def test_a_plane_that_never_ran_pods_has_none(tmp_path: Path) -> None:
    assert await end_orphaned_pods(Folder(tmp_path)) == ""
