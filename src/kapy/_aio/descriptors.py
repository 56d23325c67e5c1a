"""The limit of open files and sockets of this process."""

from __future__ import annotations

import resource
from contextlib import suppress
from typing import Final

DEFAULT_MAX: Final = 1 << 20
"""The limit that is assumed where the system has none."""


def raise_descriptor_limit() -> int:
    """Raise the soft limit of open descriptors to the hard limit; return the effective limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Some systems (macOS) refuse the hard limit that they report.
    for wanted in (hard, 1 << 16, 1 << 13):
        soft = descriptor_limit()
        if wanted == resource.RLIM_INFINITY or soft < wanted:
            with suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
                break
    return descriptor_limit()


def descriptor_limit() -> int:
    """Return the number of descriptors that this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return DEFAULT_MAX if soft == resource.RLIM_INFINITY else min(soft, DEFAULT_MAX)
