"""Versions of a GitHub repository from a Go module proxy, which has no rate limit.

`GOPROXY` is interpreted as Go does: proxies are tried in order, up to `off` or `direct`, which mean
GitHub itself. Upstream: `internal/goproxy/goproxy.go`.
"""

from __future__ import annotations

import re
from typing import Final

from kapy.clusterctl.repository.web import ServerUnreached, WebClient, pages
from kapy.kube.version import InvalidVersion, Version, parse_tolerant

DEFAULT: Final = "https://proxy.golang.org"
_MISSING_STATUSES: Final = (404, 410)


def proxies(goproxy: str) -> list[str]:
    """Return the proxies in GOPROXY; none if it begins with `off` or `direct`."""
    result: list[str] = []
    for part in re.split(r"[,|]", goproxy or DEFAULT):
        text = part.strip()
        if text in ("off", "direct"):
            break
        url = text if ":/" in text else f"https://{text}"
        if text and url.startswith(("http://", "https://")):
            result.append(url.rstrip("/"))
    return result


async def module_versions(web: WebClient, proxy: str, module: str) -> list[str]:
    """Tags of all versions of a module, of every major version. Raises ServerUnreached."""
    versions: set[Version] = set()
    for major in pages(proxy):
        names = await _list(web, proxy, module, major)
        if names is None:
            break
        versions.update(names)
    if not versions:
        raise ServerUnreached(f"{proxy} knows no version of {module}")
    return [f"v{version}" for version in sorted(versions)]


async def _list(web: WebClient, proxy: str, module: str, major: int) -> list[Version] | None:
    """Return the versions of a major version; None if there is no such module."""
    path = module if major == 1 else f"{module}/v{major}"
    answer = await web.get(f"{proxy}/{_escape(path)}/@v/list")
    if answer.status in _MISSING_STATUSES:
        return None
    if answer.status != 200:
        raise ServerUnreached(f"{answer.url} answered {answer.status}")
    versions = (_version(line) for line in answer.file().decode("utf-8", "replace").splitlines())
    return [version for version in versions if version is not None]


def _version(line: str) -> Version | None:
    try:
        # Go marks modules without a go.mod (`+incompatible`); the tag does not contain that.
        return parse_tolerant(line.strip().removesuffix("+incompatible"))
    except InvalidVersion:
        return None


def _escape(path: str) -> str:
    return re.sub("[A-Z]", lambda capital: f"!{capital[0].lower()}", path)
