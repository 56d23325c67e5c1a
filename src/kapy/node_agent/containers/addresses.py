"""The addresses of Pods in the network of a plane, one for each Pod, known before it runs.

A file in the folder of the agent has them, so that a plane that was killed gives a Pod its address
again. An address is free again when the containers of its Pod are removed, not earlier.
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
    """The addresses of Pods by their uids. folder: of the agent."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held = _read(folder)
        self._last = max(map(int, self._held.values()), default=0)

    @property
    def pods(self) -> Set[str]:
        """The uids of the Pods that have an address."""
        return frozenset(self._held)

    def allot(self, uid: str, subnet: IPv4Network, gateway: str) -> str:
        """The address of a Pod: the one that it has, or a free one of the subnet.

        Raises NoAddress, OSError.
        """
        result = self._held.get(uid)
        if result is None or not _fits(result, subnet, gateway):
            result = self._free(subnet, gateway)
            self._write({**self._held, uid: result})
            self._last = int(result)
        return str(result)

    def _free(self, subnet: IPv4Network, gateway: str) -> IPv4Address:
        """The next free address after the one that was given last: what somebody remembers of a
        Pod that is gone does not lead to another Pod at once."""
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
        """Let go the addresses of Pods whose containers are removed. Raises OSError."""
        if uids & self._held.keys():
            self._write({uid: item for uid, item in self._held.items() if uid not in uids})

    def free_others(self, before: Set[str], known: Container[str]) -> None:
        """Let go the addresses of Pods that are not known any more. before: the Pods that had one
        when the containers of such Pods were looked for. Raises OSError."""
        self.free({uid for uid in before if uid not in known})

    def _write(self, addresses: dict[str, IPv4Address]) -> None:
        """Keep them in the file first: what is not in it is not given."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = self._folder / f"{NAME}.new"
        fresh.write_bytes(msgspec.json.encode({uid: str(item) for uid, item in addresses.items()}))
        fresh.replace(self._folder / NAME)
        self._held = addresses


def _fits(address: IPv4Address, subnet: IPv4Network, gateway: str) -> bool:
    ends = (subnet.network_address, subnet.broadcast_address, IPv4Address(gateway))
    return address in subnet and address not in ends


def _read(folder: Path) -> dict[str, IPv4Address]:
    """Read the file; return nothing if it cannot be read: Pods get other addresses then, and their
    containers are started again."""
    try:
        told = msgspec.convert(decode_json((folder / NAME).read_bytes()), dict[str, str])
        result = {uid: IPv4Address(item) for uid, item in told.items()}
    except (OSError, BadJson, ValueError):  # msgspec's and ipaddress's are ValueErrors
        return {}
    return result if len(set(result.values())) == len(result) else {}
