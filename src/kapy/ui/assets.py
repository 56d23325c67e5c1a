"""The static files of the pages, with names that change with their content."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from kapy.ui.web import PREFIX, WebError, WebResponse

KINDS: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_FOREVER: Final = {"cache-control": "public, max-age=31536000, immutable"}


def asset(name: str) -> bytes | None:
    """Return the content of a file, None if there is no such file."""
    return _assets().get(name)


@cache
def _assets() -> Mapping[str, bytes]:
    folder = files("kapy.ui").joinpath("assets")
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


@cache
def asset_url(name: str) -> str:
    """Return the URL of a file; browsers may keep it for ever."""
    content = asset(name)
    assert content is not None, name
    return f"{PREFIX}/assets/{hashlib.sha256(content).hexdigest()[:12]}/{name}"


def asset_response(path: tuple[str, ...]) -> WebResponse:
    """Answer a request for a file. Raises WebError."""
    name = path[1] if len(path) == 2 else ""
    kind = KINDS.get(name.rpartition(".")[2])
    content = asset(name)
    if content is None or kind is None:
        raise WebError(404, "there is no such file")
    return WebResponse(200, content, kind, _FOREVER)
