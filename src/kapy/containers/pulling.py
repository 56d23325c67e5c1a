"""How far a pull is, from the messages of the engine. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LAYERS: int = 1000
"""Layers whose progress is kept; more than any image has."""


class PullProgress:
    """Adds up the layers of one image; gives a line whenever it says something new."""

    def __init__(self, image: str) -> None:
        self._image = image
        self._layers: dict[str, tuple[int, int]] = {}
        self._done: set[str] = set()
        self._told = ""

    def take(self, item: Mapping[str, Any]) -> str:
        """The line to tell after a message, "" for none."""
        layer, status = str(item.get("id", "")), str(item.get("status", ""))
        if layer and len(self._layers) < LAYERS:
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
            current, total = detail.get("current"), detail.get("total")
            if isinstance(current, int) and isinstance(total, int):
                self._layers[layer] = (current, total)

    def _line(self) -> str:
        if not self._layers:
            return f"pulling image {self._image}"
        known = [one for one in self._layers.values() if one[1]]
        megabytes = [sum(one[part] for one in known) // 1_000_000 for part in (0, 1)]
        layers = f"{len(self._done)} of {len(self._layers)} layers"
        size = f", {megabytes[0]} of {megabytes[1]} MB" if megabytes[1] else ""
        return f"pulling image {self._image}: {layers}{size}"
