"""What the provider asks of a cloud.

Every call may be made twice, as a process may end between a call and the note of its answer:
making what is there and deleting what is not are no errors.
"""

from typing import NamedTuple, Protocol


class Network(NamedTuple):
    """Where the machines of a cluster are. host, port: of the cluster's API server."""

    host: str
    port: int


class Server(NamedTuple):
    """One machine of the cloud. trouble: why it does not run, where the cloud says so."""

    id: str
    address: str
    running: bool
    trouble: str = ""


class Cloud(Protocol):
    """A cloud."""

    async def make_network(self, name: str, region: str) -> Network:
        """The network of that name, made where it is not there."""

    async def delete_network(self, name: str) -> bool:
        """Take a network down; whether it is gone."""

    async def make_server(
        self, network: str, name: str, size: str, version: str, user_data: bytes
    ) -> Server:
        """The machine of that name in a network, made where it is not there.

        user_data: what it runs when it starts. version: the Kubernetes version of its image.
        """

    async def delete_server(self, network: str, name: str) -> bool:
        """Take a machine down; whether it is gone."""
