"""Build the URL of a handler from a client configuration and the hook's path."""

from __future__ import annotations

import posixpath
from typing import Final
from urllib.parse import SplitResult, quote, unquote, urlsplit, urlunsplit

from kapy.api.extension_config import ClientConfig, ServiceReference
from kapy.hooks.errors import BadAddress
from kapy.hooks.hook import AnyHook
from kapy.kube.urls import request_uri

_UNESCAPED_IN_PATHS: Final = "$&+,/:;=@"


def handler_url(config: ClientConfig, hook: AnyHook, name: str = "") -> str:
    """Return the URL of a handler, as Go formats it. Raises BadAddress.

    name: the handler's own, without its ExtensionConfig; "" for a singleton hook.
    """
    parts = _of_service(config.service) if config.service else _of_url(config.url)
    path = _join_paths(unquote(parts.path), hook.path(name))
    if not path.startswith("/"):
        path = f"/{path}"
    return urlunsplit(parts._replace(path=quote(path, safe=_UNESCAPED_IN_PATHS)))


def _of_service(service: ServiceReference) -> SplitResult:
    host = f"{service.name}.{service.namespace}.svc"
    if service.port is not None:
        host = f"{host}:{service.port}"
    return SplitResult("https", host, quote(service.path), "", "")


def _of_url(url: str) -> SplitResult:
    if not url:
        raise BadAddress(
            "failed to compute URL: at least one of service and url should be defined in config"
        )
    scheme = urlsplit(url).scheme
    if scheme != "https":
        raise BadAddress(f"failed to compute URL: expected https scheme, got {scheme}")
    try:
        return request_uri(url)
    except ValueError as error:
        raise BadAddress(
            f"failed to compute URL: failed to parse url from clientConfig: {error}"
        ) from None


def _join_paths(base: str, path: str) -> str:
    """Join both paths without empty or parent segments (`path.Join`)."""
    joined = posixpath.normpath(f"{base}/{path}" if base else path)
    return f"/{joined.lstrip('/')}" if joined.startswith("/") else joined
