"""Decoding of long JSON: other threads have their turn in between, or wait as shortly as can be.

Decoders written in C hold up every thread until they are done.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any, Final

LONG: Final = 256 * 1024
"""Bytes that decoding in C takes a few milliseconds for."""


def no_collection(size: int) -> AbstractContextManager[None]:
    """Look for no cycles of garbage while a long text is decoded: of that there is none, and it
    takes as long again."""
    return _paused() if size > LONG and gc.isenabled() else _AS_USUAL


_AS_USUAL: Final = nullcontext()


@contextmanager
def _paused() -> Iterator[None]:
    gc.disable()
    try:
        yield
    finally:
        # To the oldest objects, as if they had been looked through already.
        gc.freeze()
        gc.unfreeze()
        gc.enable()


def loads(
    text: str,
    *,
    object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
    parse_int: Callable[[str], Any] | None = None,
    parse_float: Callable[[str], Any] | None = None,
    parse_constant: Callable[[str], Any] | None = None,
) -> Any:
    """As `json.loads`, of a long text by the decoder that is written in Python."""
    decoder = json.JSONDecoder(
        object_pairs_hook=object_pairs_hook,
        parse_int=parse_int,
        parse_float=parse_float,
        parse_constant=parse_constant,
    )
    if len(text) > LONG:
        decoder.scan_once = py_make_scanner(decoder)  # type: ignore[attr-defined]
    return decoder.decode(text)
