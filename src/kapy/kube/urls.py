"""URLs as Go's `net/url` takes them."""

from __future__ import annotations

import re
from ipaddress import IPv6Address
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from kapy.kube.errors import shorten
from kapy.kube.go_literals import go_quoted

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_ESCAPE: Final = re.compile(r"%(?![0-9a-fA-F]{2}).{0,2}")
_NOT_IN_HOST: Final = re.compile(r"[\x00- #/?@\\^`{-}\x7f]")
_PORT: Final = re.compile(r"(?::[0-9]*)?")


def request_uri(text: str) -> SplitResult:
    """Parse an absolute URI or an absolute path (`url.ParseRequestURI`).

    Raises ValueError with Go's message.
    """
    if problem := _problem(text):
        raise ValueError(shorten(_sentence(text, problem)))
    try:
        return urlsplit(text)
    except ValueError as error:
        raise ValueError(shorten(str(error))) from None


def url_problem(text: str) -> str:
    """Return the reason why a text is not a URL (`url.Parse`), "" if it is one."""
    whole, sharp, fragment = text.partition("#")
    problem = _reference_problem(whole)
    if not problem and sharp and (wrong := _ESCAPE.search(fragment)):
        problem = f"invalid URL escape {go_quoted(wrong[0])}"
    return _sentence(text, problem) if problem else ""


def _sentence(text: str, problem: str) -> str:
    return f"parse {go_quoted(text)}: {problem}"


def _reference_problem(text: str) -> str:
    problem = _problem(text)
    if problem not in ("empty url", "invalid URI for request"):
        return problem
    first = text.partition("?")[0].partition("/")[0]
    if ":" in first:
        return "first path segment in URL cannot contain colon"
    wrong = _ESCAPE.search(text.partition("?")[0])
    return f"invalid URL escape {go_quoted(wrong[0])}" if wrong else ""


def _problem(text: str) -> str:
    if _CONTROL.search(text):
        return "net/url: invalid control character in URL"
    if not text:
        return "empty url"
    if text.startswith(":"):
        return "missing protocol scheme"
    scheme = _SCHEME.match(text)
    rest = text[scheme.end() :] if scheme else text
    if not rest.startswith("/"):
        return "" if scheme else "invalid URI for request"
    path = rest.partition("?")[0]
    if scheme and path.startswith("//"):
        host, slash, path = path[2:].partition("/")
        if problem := _host_problem(host.rpartition("@")[2]):
            return problem
        path = slash + path
    wrong = _ESCAPE.search(path)
    return f"invalid URL escape {go_quoted(wrong[0])}" if wrong else ""


def _host_problem(host: str) -> str:
    name, port = host, ""
    if host.rfind("[") > 0:
        return "invalid IP-literal"
    if host.startswith("["):
        end = host.rfind("]")
        if end < 0:
            return "missing ']' in host"
        name, port = host[: end + 1], host[end + 1 :]
    elif ":" in host:
        name, port = host[: host.index(":")], host[host.index(":") :]
    if not _PORT.fullmatch(port):
        return f"invalid port {go_quoted(port)} after host"
    if wrong := _NOT_IN_HOST.search(name):
        return f"invalid character {go_quoted(wrong[0])} in host name"
    if wrong := _ESCAPE.search(name):
        return f"invalid URL escape {go_quoted(wrong[0])}"
    return _literal_problem(name[1:-1]) if name.startswith("[") else ""


def _literal_problem(address: str) -> str:
    """Return the reason why the text in brackets is not an IPv6 address."""
    try:
        IPv6Address(unquote(address))
    except ValueError as error:
        return f"invalid host: {error}"
    return ""
