"""RSA keys that tests take turns with: a key takes 30 ms to make, and a plane asks for dozens."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Final

from kapy.kube.pki import Algorithm

MANY: Final = 32
"""More than any test looks at, so that those of one cluster are never the same."""

Make = Callable[[Algorithm], bytes]


def reusing(make: Make) -> Make:
    """Makes as `make` does, but of RSA-2048 only so many in all."""
    entries: list[bytes] = []
    turns = cycle(entries)

    def new_key(algorithm: Algorithm) -> bytes:
        if algorithm != "RSA-2048":
            return make(algorithm)
        if len(entries) < MANY:
            entries.append(make(algorithm))
            return entries[-1]
        return next(turns)

    return new_key
