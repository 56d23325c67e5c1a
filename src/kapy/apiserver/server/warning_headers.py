"""`Warning` headers of responses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
TOTAL: Final = 4096
"""The total length of warnings above which each one is truncated, as on kube-apiserver."""

EACH: Final = 256
"""The length to which warnings are truncated."""


def warning_headers(sentences: Iterable[str]) -> str:
    """Return the header values, one a line; the HTTP adapter sends each as its own header.

    Duplicates, and warnings that no header can carry, are dropped.
    """
    told: dict[str, None] = {}
    room = TOTAL
    for one in sentences:
        if one and one not in told and not _CONTROL.search(one):
            told[one] = None
            room -= len(one[:EACH])
            if room < 0:  # no more are shown; there may be a hundred thousand
                break
    shown = _truncate(told) if sum(map(len, told)) > TOTAL else told
    return "\n".join(f'299 - "{_escape(one)}"' for one in shown)


def _truncate(sentences: Iterable[str]) -> Iterable[str]:
    room = TOTAL
    for one in sentences:
        if room <= 0:
            return
        yield one[:EACH]
        room -= len(one[:EACH])


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
