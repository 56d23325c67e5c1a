"""`kapy conformance run` of the docker backend, with a real container engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from kapy.apps.manager.release import write_release
from tests.providers.docker.setup import DEV, DOCKER
from tests.real_clusters.engine import container_engine, leftovers
from tests.real_clusters.judge import judge

pytestmark = pytest.mark.sockets


async def test_the_contracts_are_kept_with_a_real_engine(tmp_path: Path) -> None:
    release = write_release("infrastructure-dev", tmp_path)
    async with container_engine(tmp_path, network=False) as engine:
        # Both families in one run: the examples of the release are in memory, and a rule counts as
        # not checked if a kind has no example.
        examples = [
            example
            for kinds in (DEV, DOCKER)
            for example in (kinds.infra(), kinds.machine_of(), kinds.pool_of({}))
        ]
        program = ["kapy.cli.main", "manager", "infrastructure-dev"]
        await judge(release, program, examples, {}, {"DOCKER_HOST": engine.address})
        assert await leftovers(engine) == []
