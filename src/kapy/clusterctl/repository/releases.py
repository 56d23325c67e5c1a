"""The releases of a provider, wherever they are kept."""

from __future__ import annotations

from typing import Final, Protocol

METADATA: Final = "metadata.yaml"
LATEST: Final = "latest"


class Repository(Protocol):
    """The releases of one provider."""

    @property
    def components_file(self) -> str:
        """Name of the components file, as the provider's URL says."""
        ...

    async def default_version(self) -> str:
        """The version that the URL names; for `latest`, the newest release with its metadata.

        Raises RepositoryError.
        """
        ...

    async def versions(self) -> list[str]:
        """All versions that are there. Raises RepositoryError."""
        ...

    async def file(self, version: str, name: str) -> bytes:
        """A file of a version; overrides and caches are the business of who wraps this.

        Raises FileMissing where the version has no such file, else RepositoryError.
        """
        ...

    async def files(self, version: str) -> list[str]:
        """Names of all files of a version. Raises RepositoryError."""
        ...
