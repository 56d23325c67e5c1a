"""A fake cloud, for tests, and to begin with: its machines run as soon as they are made."""

from nimbus.cloud import Network, Server


class FakeCloud:
    """Networks and machines in the memory of this process."""

    def __init__(self) -> None:
        self.networks: dict[str, Network] = {}
        self.servers: dict[tuple[str, str], Server] = {}

    async def make_network(self, name: str, region: str) -> Network:
        return self.networks.setdefault(name, Network(f"{name}.{region}.example.com", 6443))

    async def delete_network(self, name: str) -> bool:
        self.networks.pop(name, None)
        return True

    async def make_server(
        self, network: str, name: str, size: str, version: str, user_data: bytes
    ) -> Server:
        server = Server(f"{network}.{name}", f"10.0.0.{len(self.servers) % 250 + 1}", running=True)
        return self.servers.setdefault((network, name), server)

    async def delete_server(self, network: str, name: str) -> bool:
        self.servers.pop((network, name), None)
        return True
