"""The user's files in place of a repository's: `<overrides>/<label>/<version>/<file>`.

Overrides only replace files: the versions are those of the repository. Upstream:
`cmd/clusterctl/client/repository/overrides.go`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kapy.clusterctl.errors import RepositoryError
from kapy.clusterctl.repository.releases import Repository


class OverriddenRepository:
    """A repository with some files replaced by those of a folder, which need not exist.

    tell: is called for each replaced file.
    """

    def __init__(
        self, repository: Repository, label: str, folder: Path, tell: Callable[[int, str], None]
    ) -> None:
        self._repository = repository
        self._label = label
        self._folder = folder / label
        self._tell = tell

    @property
    def components_file(self) -> str:
        return self._repository.components_file

    async def default_version(self) -> str:
        return await self._repository.default_version()

    async def versions(self) -> list[str]:
        return await self._repository.versions()

    async def file(self, version: str, name: str) -> bytes:
        path = self._folder / version / name
        try:
            content = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return await self._repository.file(version, name)
        except (OSError, ValueError) as error:
            raise RepositoryError(f"failed to read local override for {path}: {error}") from error
        # Users should notice that an override is used.
        level = 0 if name == self.components_file else 1
        self._tell(level, f'Using override="{name}" provider="{self._label}" version="{version}"')
        return content

    async def files(self, version: str) -> list[str]:
        folder = self._folder / version
        own = [path.name for path in folder.iterdir() if path.is_file()] if folder.is_dir() else []
        return sorted({*own, *await self._repository.files(version)})
