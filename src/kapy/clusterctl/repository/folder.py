"""Repositories in the file system: `<folder>/<label>/<version>/<file>`, and the user's overrides of
other repositories: `<overrides>/<label>/<version>/<file>`.

Upstream: `repository_local.go` and `overrides.go` in `cmd/clusterctl/client/repository`. They need
no event loop. Overrides only replace files: the versions are those of the repository.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

from kapy.clusterctl.errors import FileMissing, RepositoryError
from kapy.clusterctl.repository.latest import latest_version
from kapy.clusterctl.repository.releases import LATEST, Repository, newest_first, semantic

_READ_ERROR = "error creating the local filesystem repository client"


class FolderRepository:
    """The releases of one provider in a folder. default: a version, or `latest`."""

    def __init__(self, path: Path, default: str, components_file: str) -> None:
        self._path = path
        self._default = default
        self._components_file = components_file

    @property
    def components_file(self) -> str:
        return self._components_file

    async def default_version(self) -> str:
        return await latest_version(self) if self._default == LATEST else self._default

    async def versions(self) -> list[str]:
        try:
            there = [path.name for path in self._path.iterdir() if path.is_dir()]
        except OSError as error:
            raise RepositoryError(
                f"failed to list release directories: {self._path}: {error.strerror}"
            ) from error
        return newest_first(there)[::-1]

    async def file(self, version: str, name: str) -> bytes:
        path = self._path / version / name
        cannot = f'failed to read file "{path}" from local release {version}'
        try:
            return path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise FileMissing(
                f"{cannot}: stat {path}: no such file or directory{await self._suggestion(version)}"
            ) from None
        except IsADirectoryError:
            raise RepositoryError(f"{cannot}: it is a directory") from None
        except (OSError, ValueError) as error:
            raise RepositoryError(f"{cannot}: {error}") from error

    async def files(self, version: str) -> list[str]:
        folder = self._path / version
        try:
            return sorted(path.name for path in folder.iterdir() if path.is_file())
        except OSError as error:
            raise RepositoryError(
                f"there is no release {version}: {folder}: {error.strerror}"
                f"{await self._suggestion(version)}"
            ) from error

    async def _suggestion(self, version: str) -> str:
        """Return a hint for an error about a missing version or file: the existing ones."""
        if (self._path / version).is_dir():
            files = await self.files(version)
            return f"; the release has {', '.join(files)}" if files else "; the release is empty"
        try:
            there = await self.versions()
        except RepositoryError:
            return f"; there is no folder {self._path}"
        return f"; the releases there are {', '.join(there)}" if there else "; there is no release"


def folder_at(path: str, label: str, url: str) -> FolderRepository:
    """Return the repository at the path of a URL. Raises RepositoryError."""
    result = Path(unquote(path))
    if not result.is_absolute():
        raise RepositoryError(
            f'{_READ_ERROR}: invalid path: path "{url}" must be an absolute path, as '
            f"/home/me/repository/{label}/v1.0.0/components.yaml"
        )
    if len(result.parts) < 4:
        raise RepositoryError(
            f"{_READ_ERROR}: invalid path: path should be in the form "
            "{basepath}/{provider-name}/{version}/{components.yaml}"
        )
    folder, version = result.parent.parent, result.parent.name
    if version != LATEST and semantic(version) is None:
        raise RepositoryError(
            f'{_READ_ERROR}: invalid version: "{version}". Version must obey the syntax and '
            'semantics of the "Semantic Versioning" specification (http://semver.org/) and path '
            "format {basepath}/{provider-name}/{version}/{components.yaml}"
        )
    if folder.name != label:
        raise RepositoryError(
            f'{_READ_ERROR}: invalid path: path "{url}" must contain provider "{label}" in the '
            "format {basepath}/{provider-label}/{version}/{components.yaml}"
        )
    return FolderRepository(folder, version, result.name)


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
