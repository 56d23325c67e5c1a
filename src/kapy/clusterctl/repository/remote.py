"""Remote repositories, with a download cache.

A `Source` is the interface that GitHub, GitLab and OCI registries implement; `CachedRepository`
turns one into a `Repository`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from kapy.clusterctl.errors import RepositoryError
from kapy.clusterctl.repository.cache import Cache
from kapy.clusterctl.repository.latest import latest_version
from kapy.clusterctl.repository.releases import LATEST, Repository

if TYPE_CHECKING:
    from kapy.clusterctl.config import Config
    from kapy.clusterctl.provider import Provider


class Source(Protocol):
    """A remote source of a provider's releases.

    place: its cache key: equal place, version and file mean equal content. default: the version in
    the URL, or `latest`.
    """

    @property
    def place(self) -> str: ...

    @property
    def default(self) -> str: ...

    @property
    def components_file(self) -> str: ...

    async def versions(self) -> list[str]: ...

    async def file(self, version: str, name: str) -> bytes: ...

    async def files(self, version: str) -> list[str]: ...


class CachedRepository:
    """The repository of a source; each file is downloaded once."""

    def __init__(self, source: Source, cache: Cache) -> None:
        self._source = source
        self._cache = cache

    @property
    def components_file(self) -> str:
        return self._source.components_file

    async def default_version(self) -> str:
        default = self._source.default
        return await latest_version(self) if default == LATEST else default

    async def versions(self) -> list[str]:
        return await self._cache.once((self._source.place, "versions"), self._source.versions)

    async def file(self, version: str, name: str) -> bytes:
        key = (self._source.place, version, name)
        return await self._cache.file(key, lambda: self._source.file(version, name))

    async def files(self, version: str) -> list[str]:
        key = (self._source.place, "files", version)
        return await self._cache.once(key, lambda: self._source.files(version))


def remote_repository(url: str, config: Config, provider: Provider | None) -> Repository:
    """Return the repository of a remote URL. Raises RepositoryError."""
    parts = urlsplit(url)
    if parts.scheme == "https" and parts.netloc == "github.com":
        from kapy.clusterctl.repository.github import github_at

        return CachedRepository(github_at(parts.path, config), config.cache)
    if parts.scheme == "https" and parts.netloc.startswith("gitlab."):
        from kapy.clusterctl.repository.gitlab import gitlab_at

        return CachedRepository(gitlab_at(parts, config), config.cache)
    if parts.scheme in ("oci", "oci+http"):
        from kapy.clusterctl.repository.oci import oci_at

        return CachedRepository(oci_at(url, config, provider), config.cache)
    if parts.scheme == "https":
        raise RepositoryError(
            'invalid provider url. Only GitHub and GitLab are supported for "https" schema: '
            "https://github.com/… or https://gitlab.…"
        )
    raise RepositoryError(
        f'invalid provider url. there are no provider implementation for "{parts.scheme}" schema: '
        "use a folder, https:// (GitHub, GitLab) or oci://"
    )
