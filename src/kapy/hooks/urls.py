"""Build the URL of a handler from a client configuration and the hook's path."""

from __future__ import annotations

import posixpath
from typing import Final
from urllib.parse import SplitResult, quote, unquote, urlsplit, urlunsplit

from kapy.api.extension_config import ClientConfig, ServiceReference
from kapy.hooks.errors import BadAddress
from kapy.hooks.hook import AnyHook
from kapy.kube.errors import shorten
from kapy.kube.urls import url_problem

_UNESCAPED_IN_PATHS: Final = "$&+,/:;=@"
_UNESCAPED_IN_HOSTS: Final = "!$&'()*+,;=:[]<>\"@%"


def handler_url(config: ClientConfig, hook: AnyHook, name: str = "") -> str:
    """Return the URL of a handler, as Go formats it. Raises BadAddress.

    name: the handler's own, without its ExtensionConfig; "" for a singleton hook.
    """
    parts = _of_service(config.service) if config.service else _of_url(config.url)
    after_scheme = config.url.partition(":")[2]
    if not config.service and not after_scheme.startswith("/"):
        # An opaque URL ("https:host") has no path: the path of the hook is lost, as in Go.
        return f"{parts.scheme}:{after_scheme}"
    path = _join_paths(unquote(parts.path), hook.path(name))
    if not path.startswith("/"):
        path = f"/{path}"
    has_host = config.service or after_scheme.startswith("//")
    authority = f"//{quote(parts.netloc, safe=_UNESCAPED_IN_HOSTS)}" if has_host else ""
    rest = urlunsplit(("", "", "", parts.query, parts.fragment))
    return f"{parts.scheme}:{authority}{quote(path, safe=_UNESCAPED_IN_PATHS)}{rest}"


def _of_service(service: ServiceReference) -> SplitResult:
    host = f"{service.name}.{service.namespace}.svc"
    if service.port is not None:
        host = f"[{host}]:{service.port}" if ":" in host else f"{host}:{service.port}"
    return SplitResult("https", host, quote(service.path), "", "")


def _of_url(url: str) -> SplitResult:
    if not url:
        raise BadAddress(
            "failed to compute URL: at least one of service and url should be defined in config"
        )
    problem = url_problem(url)
    try:
        parts = urlsplit(url)
    except ValueError as error:
        problem = problem or str(error)
    if problem:
        raise BadAddress(
            f"failed to compute URL: failed to parse url from clientConfig: {shorten(problem)}"
        )
    if parts.scheme != "https":
        raise BadAddress(f"failed to compute URL: expected https scheme, got {parts.scheme}")
    return parts


def _join_paths(base: str, path: str) -> str:
    """Join both paths without empty or parent segments (`path.Join`)."""
    joined = posixpath.normpath(f"{base}/{path}" if base else path)
    return f"/{joined.lstrip('/')}" if joined.startswith("/") else joined
