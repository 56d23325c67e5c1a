"""Durations of older versions, which the newest has in seconds."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from kapy.api.older.rows import Codec
from kapy.kube.duration import parse, text

MAX_SECONDS: Final = 2**31 - 1
_SECOND: Final = timedelta(seconds=1)
_WHOLE: Final = re.compile(r"(?:([0-9]{1,6})h)?(?:([0-9]{1,7})m)?(?:([0-9]{1,8})s)?")
"""Durations as most are, and none that is too long for Go."""


def seconds(duration: str) -> int:
    """Return a Go duration in whole seconds, as many as an int32 can hold.

    The field has `rules(form="duration")`: any other text was refused when it was read.
    """
    if plain := _WHOLE.fullmatch(duration):  # the complete parser takes ten times as long
        hours, minutes, rest = (int(group or 0) for group in plain.groups())
        return min(hours * 3600 + minutes * 60 + rest, MAX_SECONDS)
    whole = abs(result := parse(duration)) // _SECOND
    return min(whole, MAX_SECONDS) if result >= timedelta(0) else -whole


def duration(seconds: int) -> str:
    """Return seconds as a Go duration."""
    return text(timedelta(seconds=seconds))


DURATION: Final = Codec(seconds, duration)
