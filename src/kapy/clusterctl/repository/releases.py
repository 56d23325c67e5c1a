"""The interface of repositories: the releases of a provider, from any source."""

from __future__ import annotations

from typing import Final, Protocol

METADATA: Final = "metadata.yaml"
LATEST: Final = "latest"


class Repository(Protocol):
    """The releases of one provider."""

    @property
    def components_file(self) -> str:
        """The name of the components file in the provider's URL."""
        ...

    async def default_version(self) -> str:
        """The version in the URL; for `latest`, the newest release with metadata.

        Raises RepositoryError.
        """
        ...

    async def versions(self) -> list[str]:
        """All available versions. Raises RepositoryError."""
        ...

    async def file(self, version: str, name: str) -> bytes:
        """A file of a version; overrides and caches are added by wrappers.

        Raises FileMissing if the version has no such file, else RepositoryError.
        """
        ...

    async def files(self, version: str) -> list[str]:
        """Names of all files of a version. Raises RepositoryError."""
        ...
