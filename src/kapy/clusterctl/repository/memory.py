"""A repository in memory, for tests and for programs that generate releases."""

from __future__ import annotations

from collections.abc import Mapping

from kapy.clusterctl.errors import FileMissing, RepositoryError
from kapy.clusterctl.repository.latest import latest_version
from kapy.clusterctl.repository.releases import LATEST


class MemoryRepository:
    """A repository in memory. releases: the files of each version by name."""

    def __init__(
        self,
        releases: Mapping[str, Mapping[str, bytes]],
        *,
        components_file: str,
        default: str = LATEST,
    ) -> None:
        self._releases = releases
        self._components_file = components_file
        self._default = default

    @property
    def components_file(self) -> str:
        return self._components_file

    async def default_version(self) -> str:
        return await latest_version(self) if self._default == LATEST else self._default

    async def versions(self) -> list[str]:
        return list(self._releases)

    async def file(self, version: str, name: str) -> bytes:
        try:
            return self._release(version)[name]
        except KeyError:
            raise FileMissing(f"unable to get file {name} for version {version}") from None

    async def files(self, version: str) -> list[str]:
        return sorted(self._release(version))

    def _release(self, version: str) -> Mapping[str, bytes]:
        try:
            return self._releases[version]
        except KeyError:
            raise RepositoryError(
                f"unable to get files for version {version}; there are {', '.join(self._releases)}"
            ) from None
