"""`Warning` headers: what a client should know though its request succeeds (or fails anyhow)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
TOTAL: Final = 4096
"""Characters that all warnings of one answer may have before each is cut, as on kube-apiserver."""

EACH: Final = 256
"""Characters that a warning may have when there are too many."""


def warning_headers(sentences: Iterable[str]) -> str:
    """The values of the headers, one a line: an adapter to HTTP sends each as a header of its own.

    Sentences that come again, or that no header can carry, are left out.
    """
    told = [one for one in dict.fromkeys(sentences) if one and not _CONTROL.search(one)]
    if sum(map(len, told)) > TOTAL:
        told = list(_cut(told))
    return "\n".join(f'299 - "{_escaped(one)}"' for one in told)


def _cut(sentences: Iterable[str]) -> Iterable[str]:
    room = TOTAL
    for one in sentences:
        if room <= 0:
            return
        yield one[:EACH]
        room -= len(one[:EACH])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
