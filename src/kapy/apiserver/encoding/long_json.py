"""Decoding of long JSON without blocking other threads for long.

Decoders written in C hold the GIL until they are done.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any, Final

LONG: Final = 256 * 1024
"""The most bytes that the C decoder handles within a few milliseconds."""


def paused_collection(size: int) -> AbstractContextManager[None]:
    """Pause the cyclic garbage collector while a long text is decoded.

    Decoding creates no garbage, and collections would double its time.
    """
    return _pause_collection() if size > LONG and gc.isenabled() else _AS_USUAL


_AS_USUAL: Final = nullcontext()


@contextmanager
def _pause_collection() -> Iterator[None]:
    gc.disable()
    try:
        yield
    finally:
        # Move the objects to the permanent generation, so that collections skip them.
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
    """Like `json.loads`, but a long text is decoded by the decoder written in Python."""
    decoder = json.JSONDecoder(
        object_pairs_hook=object_pairs_hook,
        parse_int=parse_int,
        parse_float=parse_float,
        parse_constant=parse_constant,
    )
    if len(text) > LONG:
        decoder.scan_once = py_make_scanner(decoder)  # type: ignore[attr-defined]
    return decoder.decode(text)
