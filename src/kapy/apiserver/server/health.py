"""`/healthz`, `/livez` and `/readyz`, with kube-apiserver's checks, parameters and texts.

A check returns an error message, None on success. The summary pages show only names; the message is
on the page of the single check (`/readyz/etcd`) and in the log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs

from kapy.apiserver.request.request_info import PROBES
from kapy.kube.http import Reply, Request

_log = logging.getLogger(__name__)

Check = Callable[[], str | None]

_EVERY: Final = frozenset(PROBES)
_READY: Final = frozenset({"readyz"})
_TEXT: Final = {
    "content-type": "text/plain; charset=utf-8",
    "x-content-type-options": "nosniff",
}


@dataclass(frozen=True, slots=True)
class _Check:
    name: str
    check: Check
    pages: frozenset[str]


class Health:
    """The health checks of one server.

    storage: the check of the store, which is named `etcd` (so that monitoring finds it). It fails
    while the store accepts no writes. shutdown_callbacks: called when the shutdown begins.
    """

    __slots__ = ("_checks", "_stopping", "_told", "shutdown_callbacks")

    def __init__(self, storage: Check) -> None:
        self._stopping = False
        self.shutdown_callbacks: list[Callable[[], None]] = []
        self._told: dict[str, frozenset[str]] = {}
        self._checks = [
            _Check("ping", _succeed, _EVERY),
            _Check("log", _succeed, _EVERY),
            _Check("etcd", storage, _EVERY),
            _Check("shutdown", self._shutdown, _READY),
        ]

    def add(self, name: str, check: Check) -> None:
        """Add a readiness check."""
        self._checks.insert(-1, _Check(name, check, _READY))

    def begin_shutdown(self) -> None:
        """Mark the server as shutting down: it is not ready, but still handles requests."""
        self._stopping = True
        for callback in tuple(self.shutdown_callbacks):
            callback()

    @property
    def is_shutting_down(self) -> bool:
        """Report whether `begin_shutdown` was called."""
        return self._stopping

    def paths(self) -> Iterator[str]:
        """Yield the paths of all pages."""
        for page in PROBES:
            yield f"/{page}"
            yield from (f"/{page}/{check.name}" for check in self._checks_of(page))

    def page(self, request: Request) -> Reply | None:
        """Return the response for a path below `PROBES`, None if there is no such check."""
        page, *rest = (part for part in request.path.split("/") if part)
        if not rest:
            return self._summary(page, request)
        check = next((item for item in self._checks_of(page) if rest == [item.name]), None)
        if check is None:
            return None
        wrong = check.check()
        if wrong is None:
            return Reply(200, b"ok", _TEXT)
        return Reply(500, f"internal server error: {wrong}\n".encode(), _TEXT)

    def _checks_of(self, page: str) -> list[_Check]:
        return [check for check in self._checks if page in check.pages]

    def _summary(self, page: str, request: Request) -> Reply:
        excluded = _excluded_checks(request)
        lines, failed = [], {}
        for check in self._checks_of(page):
            if check.name in excluded:
                excluded.discard(check.name)
                lines.append(f"[+]{check.name} excluded: ok")
                continue
            wrong = check.check()
            if wrong is None:
                lines.append(f"[+]{check.name} ok")
            else:
                failed[check.name] = wrong
                lines.append(f"[-]{check.name} failed: reason withheld")
        if excluded:
            names = ", ".join(f'"{name}"' for name in sorted(excluded))
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
        self._log_failures(page, failed)
        if failed:
            return Reply(500, _join_lines([*lines, f"{page} check failed"]), _TEXT)
        if "verbose" in request.query:
            return Reply(200, _join_lines([*lines, f"{page} check passed"]), _TEXT)
        return Reply(200, b"ok", _TEXT)

    def _log_failures(self, page: str, failed: dict[str, str]) -> None:
        """Log checks that have failed since the last probe."""
        news = failed.keys() - self._told.get(page, frozenset())
        self._told[page] = frozenset(failed)
        for name in sorted(news - {"shutdown"}):
            _log.warning("%s fails: %s: %s", page, name, failed[name])

    def _shutdown(self) -> str | None:
        return "process is shutting down" if self._stopping else None


def _succeed() -> None:
    """Do nothing: this check never fails, because a server that responds is healthy."""


def _join_lines(lines: Sequence[str]) -> bytes:
    return "\n".join([*lines, ""]).encode()


def _excluded_checks(request: Request) -> set[str]:
    """Return the excluded checks; the parameter `exclude` may be repeated."""
    if "exclude" not in request.query:
        return set()
    if request.arrival is None:
        return {request.query["exclude"]}
    return set(parse_qs(request.arrival.uri.partition("?")[2]).get("exclude", ()))
