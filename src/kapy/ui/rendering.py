"""Renders pages from HTML templates, and serves their static files.

Every value is escaped where it is inserted into a page. The name of a static file changes with its
content.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import Any, Final, TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined

from kapy.kube import Document
from kapy.kube.duration import age
from kapy.ui.documents import moment_of
from kapy.ui.rows import STATES
from kapy.ui.web import HTML, PREFIX, WebError, WebResponse, cluster_url

T = TypeVar("T")

_MOST_THREADS: Final = 2
"""Pages that are computed on threads at a time; further ones wait."""
_LARGE_DOCUMENTS: Final = 5000
"""Values of documents from which on a page is computed on a thread."""
_LINE: Final = 100
"""Characters that count as one value."""


def ago(moment: str | datetime | None, now: datetime) -> str:
    """Return the time since a moment, as text; "" if it is not known."""
    then = moment_of(moment) if isinstance(moment, str) else moment
    return "" if then is None else age(abs(now - then))


_WORDS: Final[dict[str, str]] = {state: state for state in STATES}
STATE_WORDS: Final[Mapping[str, str]] = {**_WORDS, "failing": "not available"}
"""The words for states; colour alone carries no meaning."""


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("kapy.ui"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals |= {"ui": PREFIX, "asset": asset_url, "cluster_url": cluster_url}
    environment.globals["state_words"] = STATE_WORDS
    environment.filters |= {"ago": ago, "ms": lambda seconds: f"{seconds * 1000:.0f} ms"}
    return environment


def page(template: str, values: Mapping[str, Any], *, status: int = 200) -> WebResponse:
    """Render a page from a template. values: the variables of the template."""
    text = _environment().get_template(template).render(values).replace(">\n<", "><")
    return WebResponse(status, text.encode("utf-8", "replace"), HTML)


async def compute(function: Callable[[], T]) -> T:
    """Call a function on one of few threads, beside the other work of the process."""
    return await asyncio.get_running_loop().run_in_executor(_threads(), function)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="kapy-ui")


def is_large(documents: Iterable[Document | None], limit: int = _LARGE_DOCUMENTS) -> bool:
    """Report whether documents have more values than the event loop should look at in one go.

    It ends at the limit, and descends without recursion.
    """
    rest: list[Any] = list(documents)
    count = 0
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            rest.extend(islice(value.values(), limit))
        elif isinstance(value, list):
            rest.extend(islice(value, limit))
        elif isinstance(value, str):
            count += len(value) // _LINE
        count += 1
        if count > limit:
            return True
    return False


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
