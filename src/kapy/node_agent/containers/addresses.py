"""The addresses of Pods in the network of a plane, allocated before the Pods run.

They are stored in a file in the agent's folder, so that a Pod keeps its address when a plane is
killed and started again. An address is released after the containers of its Pod were removed.
"""

from __future__ import annotations

from collections.abc import Container, Set
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Final

import msgspec

from kapy.kube.errors import KapyError
from kapy.kube.foreign_json import BadJson, decode_json

NAME: Final = "addresses.json"


class NoAddress(KapyError):
    """All addresses of a network belong to Pods."""


class Addresses:
    """The addresses of Pods by their UIDs. folder: the folder of the agent, which has a file with
    the addresses.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held = _read(folder)
        self._last = max(map(int, self._held.values()), default=0)

    @property
    def pods(self) -> Set[str]:
        """The uids of the Pods that have an address."""
        return frozenset(self._held)

    def allot(self, uid: str, subnet: IPv4Network, gateway: str) -> str:
        """Return the address of a Pod: its existing one, or a free one of the subnet.

        Raises NoAddress, OSError.
        """
        result = self._held.get(uid)
        if result is None or not _fits(result, subnet, gateway):
            result = self._free(subnet, gateway)
            self._write({**self._held, uid: result})
            self._last = int(result)
        return str(result)

    def _free(self, subnet: IPv4Network, gateway: str) -> IPv4Address:
        """Return the next free address after the last allocated one. So the address of a deleted
        Pod is not reused at once: clients may still send requests to it."""
        first, last = int(subnet.network_address) + 1, int(subnet.broadcast_address) - 1
        taken = {*self._held.values(), IPv4Address(gateway)}
        begin = self._last + 1 if first <= self._last < last else first
        for number in (*range(begin, last + 1), *range(first, begin)):
            if IPv4Address(number) not in taken:
                return IPv4Address(number)
        raise NoAddress(
            f"all addresses of the subnet {subnet} of this plane's containers belong to Pods; "
            "delete Pods that have ended (`kubectl get pods -A`)"
        )

    def free(self, uids: Set[str]) -> None:
        """Release the addresses of Pods whose containers are removed. Raises OSError."""
        if uids & self._held.keys():
            self._write({uid: item for uid, item in self._held.items() if uid not in uids})

    def free_others(self, before: Set[str], pods: Container[str]) -> None:
        """Release the addresses of unknown Pods. before: the Pods that had an address before the
        containers of unknown Pods were removed. Raises OSError."""
        self.free({uid for uid in before if uid not in pods})

    def _write(self, addresses: dict[str, IPv4Address]) -> None:
        """Store the addresses in the file before any of them is used."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = self._folder / f"{NAME}.new"
        fresh.write_bytes(msgspec.json.encode({uid: str(item) for uid, item in addresses.items()}))
        fresh.replace(self._folder / NAME)
        self._held = addresses


def _fits(address: IPv4Address, subnet: IPv4Network, gateway: str) -> bool:
    ends = (subnet.network_address, subnet.broadcast_address, IPv4Address(gateway))
    return address in subnet and address not in ends


def _read(folder: Path) -> dict[str, IPv4Address]:
    """Read the file; return nothing if it cannot be read. Pods then get new addresses, and their
    containers are restarted."""
    try:
        stored = msgspec.convert(decode_json((folder / NAME).read_bytes()), dict[str, str])
        result = {uid: IPv4Address(item) for uid, item in stored.items()}
    except (OSError, BadJson, ValueError):  # msgspec's and ipaddress's are ValueErrors
        return {}
    return result if len(set(result.values())) == len(result) else {}
