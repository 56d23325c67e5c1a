"""Allocates the loopback addresses of workload API servers.

Every address of 127.0.0.0/8 belongs to the local machine (on Linux): sixteen million clusters can
listen on one port. The address is derived from the name of the cluster and the UID of its
DevCluster: clusters of the same name in several planes do not get the same address. It is stored in
the DevCluster.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from hashlib import blake2b
from typing import Final

PORT: Final = 20000
"""Where upstream's in-memory backend begins, too."""

PORTS: Final = range(PORT, 24000)
LOOPBACK: Final = "127.0.0.1"
ANY: Final = "0.0.0.0"


def loopback_address(name: str, is_taken: Callable[[str], bool]) -> str:
    """Return the address for a name, or the next free one; 127.0.0.x is never used."""
    attempt = 0
    while True:
        seed = f"{name}#{attempt}" if attempt else name
        a, b, c = blake2b(seed.encode(), digest_size=3).digest()
        address = f"127.{1 + a % 254}.{b}.{1 + c % 254}"
        if not is_taken(address):
            return address
        attempt += 1


def has_many_loopback_addresses() -> bool:
    """Return whether all of 127.0.0.0/8 is local (macOS has 127.0.0.1 only)."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("127.1.2.3", 0))
        except OSError:
            return False
    return True
