"""CEL functions of Kubernetes' URL library."""

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
        reason = f"URL parse error during conversion from string: {error}"
        raise EvaluationError(reason) from None


def _host(url: Url) -> str:
    return url.parts.netloc.rpartition("@")[2]


def _hostname(url: Url) -> str:
    host = _host(url)
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _port(url: Url) -> str:
    return _host(url).rpartition("]")[2].partition(":")[2]


def _escaped_path(url: Url) -> str:
    return quote(url.parts.path, safe="/%:@!$&'()*+,;=~-._")


def _query(url: Url) -> dict[str, list[str]]:
    return parse_qs(url.parts.query, keep_blank_values=True)


_KIND: Final = "kubernetes.URL"

FUNCTIONS: Final[dict[str, Function]] = {
    "isURL(string) -> bool": _is_url,
    f"url(string) -> {_KIND}": _url,
    f"url({_KIND}) -> {_KIND}": lambda value: value,
    f"{_KIND} :: getScheme() -> string": lambda value: value.parts.scheme,
    f"{_KIND} :: getHost() -> string": _host,
    f"{_KIND} :: getHostname() -> string": _hostname,
    f"{_KIND} :: getPort() -> string": _port,
    f"{_KIND} :: getEscapedPath() -> string": _escaped_path,
    f"{_KIND} :: getQuery() -> map<string, list<string>>": _query,
}
