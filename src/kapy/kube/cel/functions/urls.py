"""Kubernetes' URL library."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qs, quote

from kapy.kube.cel.errors import EvaluationError
from kapy.kube.cel.overloads import Function
from kapy.kube.cel.values import Url
from kapy.kube.urls import request_uri


def _is_url(text: str) -> bool:
    try:
        request_uri(text)
    except ValueError:
        return False
    return True


def _url(text: str) -> Url:
    try:
        return Url(request_uri(text))
    except ValueError as error:
        why = f"URL parse error during conversion from string: {error}"
        raise EvaluationError(why) from None


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
    "isURL(string) -> bool": _is_url,
    f"url(string) -> {_KIND}": _url,
    f"url({_KIND}) -> {_KIND}": lambda one: one,
    f"{_KIND} :: getScheme() -> string": lambda one: one.parts.scheme,
    f"{_KIND} :: getHost() -> string": _host,
    f"{_KIND} :: getHostname() -> string": _hostname,
    f"{_KIND} :: getPort() -> string": _port,
    f"{_KIND} :: getEscapedPath() -> string": _escaped_path,
    f"{_KIND} :: getQuery() -> map<string, list<string>>": _query,
}
