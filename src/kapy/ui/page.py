"""The context of page handlers, and pages for failures."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from kapy.client.client import Client
from kapy.kube import Document
from kapy.ui.rendering import compute, is_large, page
from kapy.ui.sessions import Session
from kapy.ui.viewers import Viewer
from kapy.ui.web import WebRequest, WebResponse


class Planner(Protocol):
    """A function that computes the plan of a change."""

    async def __call__(
        self, client: Client, objects: str | Sequence[Document], namespace: str, *, deletes: bool
    ) -> tuple[Document, str]:
        """Return the plan of applying (or deleting) objects, as `kapy plan` prints it: as a
        document and as text. Raises KapyError.
        """
        ...


LARGE_PAGE: Final = 300
"""The number of rows above which a page is rendered on a thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOptions:
    """The server of the pages.

    secure: pages are served over TLS. hosts: the accepted Host headers, empty for any. cookie: the
    name of the session's cookie. namespaces: tried for viewers who may not list namespaces. plan:
    computes plans, None if that is not possible.
    """

    secure: bool = True
    hosts: frozenset[str] = frozenset()
    cookie: str = "kapy-ui"
    namespaces: Callable[[], Sequence[str]] = tuple
    plan: Planner | None = None


@dataclass(frozen=True, slots=True)
class PageContext:
    """One request of a logged-in user, with the objects that its handler needs."""

    request: WebRequest
    session: Session
    viewer: Viewer
    group: asyncio.TaskGroup
    now: datetime
    options: PageOptions

    async def page(
        self,
        template: str,
        *,
        title: str,
        rows: int = 0,
        status: int = 200,
        documents: Iterable[Document | None] = (),
        compute_values: Callable[[], Mapping[str, Any]] = dict,
        **values: Any,
    ) -> WebResponse:
        """Render a page; large ones on a thread.

        rows: about how many the page has. documents: the objects from which it is computed.
        compute_values: returns further values of the template; it must be pure.
        """
        values |= {
            **_layout(title, self.request),
            "session": self.session,
            "headers": json.dumps({"x-kapy-csrf": self.session.csrf}),
            "now": self.now,
            "plans": self.options.plan is not None,
        }

        def response() -> WebResponse:
            return page(template, {**values, **compute_values()}, status=status)

        if rows < LARGE_PAGE and not is_large(documents):
            return response()
        return await compute(response)


def _layout(title: str, request: WebRequest | None) -> dict[str, Any]:
    is_fragment = request is not None and request.is_fragment
    return {
        "title": title,
        "layout": "fragment.html" if is_fragment else "layout.html",
        "path": () if request is None else request.path,
    }


def error_page(status: int, message: str, request: WebRequest | None = None) -> WebResponse:
    """Return a page about a failure. Without a message it is the page that
    confirms a login.
    """
    values = {"session": None, "headers": "{}", "status": status, "message": message}
    title = "Error" if message else "kapy"
    return page("error.html", {**_layout(title, request), **values}, status=status)
