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
    headers: dict[str, None] = {}
    room = TOTAL
    for sentence in sentences:
        if sentence and sentence not in headers and not _CONTROL.search(sentence):
            headers[sentence] = None
            room -= len(sentence[:EACH])
            if room < 0:  # further warnings are dropped; there may be a hundred thousand
                break
    entries = _truncate(headers) if sum(map(len, headers)) > TOTAL else headers
    return "\n".join(f'299 - "{_escape(item)}"' for item in entries)


def _truncate(sentences: Iterable[str]) -> Iterable[str]:
    room = TOTAL
    for sentence in sentences:
        if room <= 0:
            return
        yield sentence[:EACH]
        room -= len(sentence[:EACH])


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
