"""One server for all tests of this folder, with Cluster API's CRDs; namespaces of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from random import Random

import pytest
import pytest_asyncio

from kapy.client.client import Client
from kapy.client.https import ApiTransport
from kapy.kube.names import NAMESPACES
from tests.real.installed import Installed
from tests.real.processes import Stable, stable
from tests.real.servers import Place, place


@pytest.fixture(scope="session")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with place(tmp_path_factory.mktemp("server")) as result:
        yield result


@pytest.fixture(scope="session")
def installed(there: Place) -> Installed:
    """The managers' releases."""

    async def install() -> Installed:
        result, transport = Installed(there.here), ApiTransport(there.access)
        await result.install(Client(transport, field_manager="kapy-test"))
        await transport.aclose()
        return result

    return asyncio.run(install())


@pytest.fixture(scope="session")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stable]:
    """A starter of managers, each in a process of its own."""
    with stable(tmp_path_factory.mktemp("managers")) as result:
        yield result


@pytest_asyncio.fixture
async def client(there: Place) -> AsyncIterator[Client]:
    transport = ApiTransport(there.access)
    yield Client(transport, field_manager="kapy-test")
    await transport.aclose()


@pytest_asyncio.fixture
async def namespace(client: Client) -> AsyncIterator[str]:
    name = f"kapy-test-{Random().getrandbits(40):x}"
    document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await client.create(NAMESPACES, document)
    yield name
