"""The kept inputs: one file of JSON for each harness, so that a change of them can be read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from tests.oracle.recorded import SAMPLES

FOLDER: Final = SAMPLES / "fuzz"


def kept(name: str) -> list[bytes]:
    """The inputs of a harness; each character of the file's texts is one byte."""
    path = FOLDER / f"{name}.json"
    if not path.exists():
        return []
    return [text.encode("latin-1") for text in json.loads(path.read_text("utf-8"))]


def keep(name: str, inputs: Iterable[bytes]) -> None:
    """Write the inputs of a harness, the smallest first."""
    texts = [
        data.decode("latin-1") for data in sorted(set(inputs), key=lambda data: (len(data), data))
    ]
    FOLDER.mkdir(exist_ok=True)
    content = json.dumps(texts, indent=0, ensure_ascii=True)
    (FOLDER / f"{name}.json").write_text(content + "\n", "utf-8")
