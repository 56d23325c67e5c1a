"""A cache of what is printed from the Structs, beside Python's bytecode.

Printing all definitions takes a third of a second, and every management plane needs them when it
starts. The cache is a file in `__pycache__`. It is printed again when one of the sources has
changed; if the file cannot be written, or bytecode is not wanted, each program prints the
definitions.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from importlib.util import cache_from_source
from pathlib import Path
from typing import Final

import msgspec

from kapy.kube import Document, model

_SOURCES: Final = Path(__file__).parent


def load_or_print(name: str, make: Callable[[], list[Document]]) -> list[Document]:
    """Return the documents of the cache file `name`, or print them with `make` if the sources have
    changed.
    """
    place = Path(cache_from_source(str(_SOURCES / f"{name}.py"))).with_suffix(".json")
    state = _state()
    with suppress(OSError, msgspec.DecodeError):
        result, documents = msgspec.json.decode(place.read_bytes(), type=tuple[str, list[Document]])
        if result == state:
            return documents
    documents = make()
    if not sys.dont_write_bytecode:
        with suppress(OSError):
            _replace(place, msgspec.json.encode((state, documents)))
    return documents


def _state() -> str:
    """Return a hash of the interpreter, msgspec, and the names, sizes and times of the sources."""
    state = sha256(f"{sys.version} {msgspec.__version__}".encode())
    for path in _sources():
        facts = path.stat()
        state.update(f"{path.name} {facts.st_size} {facts.st_mtime_ns}\n".encode())
    return state.hexdigest()


def _sources() -> Iterator[Path]:
    yield Path(model.__file__)
    yield from sorted(_SOURCES.glob("*.py"))
    for folder in ("older", "v*"):
        yield from sorted(_SOURCES.glob(f"{folder}/*.py"))


def _replace(place: Path, content: bytes) -> None:
    """Write a file atomically, because two programs may start at once."""
    place.parent.mkdir(exist_ok=True)
    whole = place.with_suffix(f".{os.getpid()}")
    whole.write_bytes(content)
    whole.replace(place)
