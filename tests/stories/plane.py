"""A whole management plane for one story: on virtual time, in memory, without sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

from kapy import apps
from kapy._aio.clock import loop_clock
from kapy.api.kinds import KINDS
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.settings import Settings
from kapy.kube import Document, yaml
from kapy.kube.names import CONFIG_MAPS, NAMESPACES, SECRETS, Resource
from kapy.testing.story import Story

SAMPLE = Path(apps.__file__).parent / "samples" / "in-memory-cluster.yaml"


def own_kinds() -> list[Resource]:
    """Every resource that kapy's own CRDs define, in the version that is stored."""
    return [kind.type_of().RESOURCE for kind in KINDS]


def sample() -> list[Document]:
    """The sample cluster: one control plane, two workers."""
    return yaml.load_all(SAMPLE.read_text())


@asynccontextmanager
async def running(seed: int = 0) -> AsyncIterator[ManagementPlane]:
    """A plane on the running loop's time."""
    async with management_plane(Settings(), clock=loop_clock(), random=Random(seed)) as plane:
        yield plane
        rights = plane.server.access.grants.built_in
        # Whatever controllers do has to be among the rights of their managers.
        assert rights is not None
        assert rights.denied_requests == []


@asynccontextmanager
async def running_plane(seed: int = 0) -> AsyncIterator[Story]:
    """A story on a new plane."""
    async with running(seed) as plane:
        yield Story(plane.client, [*own_kinds(), NAMESPACES, SECRETS, CONFIG_MAPS])
