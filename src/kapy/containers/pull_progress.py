"""The progress of a pull, from the messages of the engine. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

MAX_LAYERS: Final = 1000
"""Layers whose progress is kept; more than any image has."""
MAX_LAYER_ID_LENGTH: Final = 128
"""Characters of a layer's ID that are looked at."""
MAX_SIZE: Final = 1 << 60
"""Bytes of a layer; what is told beyond that is no size."""


class PullProgress:
    """Aggregates the progress of an image's layers; returns a line of text when it changes."""

    def __init__(self, image: str) -> None:
        self._image = image
        self._layers: dict[str, tuple[int, int]] = {}
        self._done: set[str] = set()
        self._sizes = [0, 0]
        self._told = ""

    def update(self, item: Mapping[str, Any]) -> str:
        """Process a message; return the new line, "" if it is unchanged."""
        layer, status = str(item.get("id", ""))[:MAX_LAYER_ID_LENGTH], str(item.get("status", ""))
        if layer and (layer in self._layers or len(self._layers) < MAX_LAYERS):
            self._count(layer, status, item.get("progressDetail"))
        line = self._line()
        if line == self._told:
            return ""
        self._told = line
        return line

    def _count(self, layer: str, status: str, detail: Any) -> None:
        if status in ("Pull complete", "Already exists"):
            self._done.add(layer)
            self._layers.setdefault(layer, (0, 0))
        elif status == "Pulling fs layer":
            self._layers.setdefault(layer, (0, 0))
        elif status == "Downloading" and isinstance(detail, dict):
            now = _size(detail.get("current")), _size(detail.get("total"))
            before = self._layers.get(layer, (0, 0))
            self._layers[layer] = now
            for part in (0, 1):
                self._sizes[part] += now[part] - before[part]

    def _line(self) -> str:
        if not self._layers:
            return f"pulling image {self._image}"
        megabytes = [size // 1_000_000 for size in self._sizes]
        layers = f"{len(self._done)} of {len(self._layers)} layers"
        size = f", {megabytes[0]} of {megabytes[1]} MB" if megabytes[1] else ""
        return f"pulling image {self._image}: {layers}{size}"


def _size(value: Any) -> int:
    """Return a size of a message, 0 for an invalid one."""
    return value if isinstance(value, int) and 0 <= value < MAX_SIZE else 0
