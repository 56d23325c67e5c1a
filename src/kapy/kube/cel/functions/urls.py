"""Kubernetes' URL library."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qs, quote, urlsplit

from kapy.kube.cel.errors import EvaluationError
from kapy.kube.cel.overloads import Function
from kapy.kube.cel.values import Url

_UNFIT: Final = re.compile(r"[\x00-\x20\x7f]|%(?![0-9a-fA-F]{2})")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def _parsed(text: str) -> Url | None:
    """An absolute URI, or an absolute path, as Go's `url.ParseRequestURI` takes it."""
    if not (text.startswith("/") or _SCHEME.match(text)) or _UNFIT.search(text.partition("?")[0]):
        return None
    if not text.startswith("/") and "//" not in text and not text.partition(":")[2]:
        return None
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return None
    return Url(parts)


def _url(text: str) -> Url:
    found = _parsed(text)
    if found is None:
        why = f'parse "{text}": invalid URI for request'
        raise EvaluationError(f"URL parse error during conversion from string: {why}")
    return found


def _host(one: Url) -> str:
    return one.parts.netloc.rpartition("@")[2]


def _hostname(one: Url) -> str:
    host = _host(one)
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _port(one: Url) -> str:
    return _host(one).rpartition("]")[2].partition(":")[2]


def _escaped_path(one: Url) -> str:
    return quote(one.parts.path, safe="/%:@!$&'()*+,;=~-._")


def _query(one: Url) -> dict[str, list[str]]:
    return parse_qs(one.parts.query, keep_blank_values=True)


_KIND: Final = "kubernetes.URL"

FUNCTIONS: Final[dict[str, Function]] = {
    "isURL(string) -> bool": lambda text: _parsed(text) is not None,
    f"url(string) -> {_KIND}": _url,
    f"url({_KIND}) -> {_KIND}": lambda one: one,
    f"{_KIND} :: getScheme() -> string": lambda one: one.parts.scheme,
    f"{_KIND} :: getHost() -> string": _host,
    f"{_KIND} :: getHostname() -> string": _hostname,
    f"{_KIND} :: getPort() -> string": _port,
    f"{_KIND} :: getEscapedPath() -> string": _escaped_path,
    f"{_KIND} :: getQuery() -> map<string, list<string>>": _query,
}
