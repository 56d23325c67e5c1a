"""Reads templates from a file, a URL, GitHub or standard input, instead of a provider's
repository.

Upstream: `cmd/clusterctl/client/cluster/template.go`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, unquote, urlsplit

from kapy.clusterctl.errors import RepositoryError, TemplateError

if TYPE_CHECKING:
    from kapy.client.client import Client
    from kapy.clusterctl.config import Config

STDIN: Final = "-"
DEFAULT_KEY: Final = "template"
"""The default key of a template in a ConfigMap."""

_READ_ERROR: Final = "invalid GetFromURL operation"


def is_remote(place: str) -> bool:
    """Return whether a template's location is remote."""
    return place.startswith("https:")


async def text_at(place: str, config: Config) -> str:
    """Return the text at a location: a path, `file:` or `https:` URL, or `-` for standard input.

    Raises TemplateError.
    """
    return (await _content(place, config)).decode("utf-8", "surrogateescape")


async def _content(place: str, config: Config) -> bytes:
    if place == STDIN:
        return sys.stdin.buffer.read()
    try:
        url = urlsplit(place)
    except ValueError as error:
        raise TemplateError(f'{_READ_ERROR}: failed to parse "{place}": {error}') from error
    if url.scheme in ("", "file"):
        return _file(Path(unquote(url.path)))
    if url.scheme != "https":
        raise TemplateError(
            f'{_READ_ERROR}: unable to read content from "{place}". Only reading from GitHub and '
            "local file system is supported, and from https: URLs"
        )
    try:
        return await (_from_github(url, config) if url.netloc == "github.com" else _download(place))
    except RepositoryError as error:
        raise TemplateError(f"{_READ_ERROR}: {error}") from error


def _file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except IsADirectoryError:
        raise TemplateError(
            f'{_READ_ERROR}: invalid path: file "{path}" is actually a directory'
        ) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise TemplateError(f'{_READ_ERROR}: failed to read file "{path}": {reason}') from None


async def _download(url: str) -> bytes:
    from kapy.clusterctl.repository.web import WebClient, refusal

    answer = await WebClient().get(url)
    if answer.status != 200:
        raise TemplateError(f"{_READ_ERROR}: failed to get file, got {refusal(answer)} from {url}")
    return answer.file()


async def _from_github(url: SplitResult, config: Config) -> bytes:
    """Return a file of a branch, or an asset of a release."""
    from kapy.clusterctl.repository.github import github_at

    # Split before decoding, because slashes in a branch name are escaped.
    parts = [unquote(part) for part in url.path.strip("/").split("/")]
    owner, name, kind, *rest = [*parts, "", ""]
    rest = [item for item in rest if item]
    if kind == "blob" and len(rest) > 1:
        repository = github_at(f"/{owner}/{name}/releases/latest/-", config)
        return await repository.blob(rest[0], "/".join(rest[1:]))
    if kind == "releases" and len(rest) == 3 and rest[0] == "download":
        _, tag, asset = rest
        return await github_at(f"/{owner}/{name}/releases/{tag}/{asset}", config).file(tag, asset)
    raise TemplateError(
        f'{_READ_ERROR}: invalid GitHub url "{url.geturl()}": a GitHub url should be in one of '
        "these forms: https://github.com/{owner}/{repository}/blob/{branch}/{path-to-file} or "
        "https://github.com/{owner}/{repository}/releases/download/{tag}/{asset-file-name}"
    )


async def text_of_config_map(client: Client, namespace: str, name: str, key: str) -> str:
    """Return the text under a key of a ConfigMap. Raises TemplateError, ApiError."""
    from kapy.kube import Key
    from kapy.kube.errors import NotFound
    from kapy.kube.names import CONFIG_MAPS

    if not name:
        raise TemplateError(
            "invalid GetFromConfigMap operation: missing configMapName value; --from-config-map "
            "names it"
        )
    try:
        result = await client.get(CONFIG_MAPS, Key(namespace, name))
    except NotFound as error:
        raise TemplateError(f"error reading ConfigMap {namespace}/{name}: {error}") from None
    data = result.get("data") or {}
    if key not in data:
        there = ", ".join(sorted(data)) or "no key at all"
        raise TemplateError(
            f'the ConfigMap {namespace}/{name} does not have the "{key}" data key (it has {there})'
        )
    text: str = data[key]
    return text
