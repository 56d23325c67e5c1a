"""The schemas of kapy's own CRDs that are known to be valid, by digest.

A server validates the schemas of each CRD that is created, which takes a third of a plane's first
start. Those of kapy are the same at each start, so they were validated when `sound_schemas.json`
was written (`make reference`), and a test validates them again. The file has digests only: a schema
of any other content is validated, and so are all if the file is missing or damaged.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from kapy.apiserver.resources.builtin.definition_schemas import SoundSchemas, accept_sound_schemas

FILE: Final = Path(__file__).with_suffix(".json")


def accept_own_schemas() -> None:
    """Let servers of this process accept the schemas of kapy's own CRDs without validation."""
    with suppress(OSError, msgspec.MsgspecError, ValueError):
        accept_sound_schemas(read(FILE))


def read(file: Path) -> SoundSchemas:
    """Return the digests of a file. Raises OSError, MsgspecError, ValueError."""
    content = msgspec.json.decode(file.read_bytes(), type=dict[str, tuple[str, ...]])
    return {bytes.fromhex(digest): formats for digest, formats in content.items()}


def render(schemas: SoundSchemas) -> str:
    """Return the content of the file."""
    content = {digest.hex(): formats for digest, formats in sorted(schemas.items())}
    return msgspec.json.format(msgspec.json.encode(content), indent=1).decode() + "\n"
