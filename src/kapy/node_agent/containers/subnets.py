"""Subnets for the network of a plane that no network of this machine has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network
from pathlib import Path
from typing import Final

ROUTES: Final = Path("/proc/net/route")
_UP: Final = 1
_OWN: Final = (IPv4Network("172.16.0.0/12"), IPv4Network("10.0.0.0/8"))
_LENGTH: Final = 24
_STEP: Final = 40503
"""Candidates are spread evenly (the golden section of 65536): a network of the machine may have
half of a range."""
MOST: Final = 50
"""The number of subnets that are tried."""


def host_networks(*, but: str = "") -> list[IPv4Network]:
    """Return the IPv4 networks in the routes of this machine, without the default route. but: the
    interface whose routes are ignored."""
    try:
        lines = ROUTES.read_text().splitlines()[1:]
    except OSError:
        return []
    result = (_network(line.split(), but) for line in lines)
    return [item for item in result if item is not None and item.prefixlen]


def _network(fields: list[str], but: str) -> IPv4Network | None:
    if len(fields) < 8 or fields[0] == but or not int(fields[3], 16) & _UP:
        return None
    address, mask = (bytes.fromhex(fields[index])[::-1] for index in (1, 7))
    return IPv4Network((address, int.from_bytes(mask).bit_count()), strict=False)


def fitting_subnets(
    preferred: IPv4Network, taken: Iterable[IPv4Network], start: int
) -> Iterator[IPv4Network]:
    """Yield subnets that overlap with no taken one: first the preferred one, then private ranges.
    start: the number of the first private range, which differs between planes.
    """
    others = list(taken)
    for item in (preferred, *_candidates(start)):
        if not any(item.overlaps(other) for other in others):
            yield item


def _candidates(start: int) -> Iterator[IPv4Network]:
    for index in range(MOST):
        block = _OWN[index * len(_OWN) // MOST]
        count = 1 << (_LENGTH - block.prefixlen)
        number = (start + index * _STEP) % count
        yield IPv4Network((int(block.network_address) + (number << (32 - _LENGTH)), _LENGTH))
