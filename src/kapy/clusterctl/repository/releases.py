"""The interface of repositories: the releases of a provider, from any source, and their tags."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from kapy.kube.version import InvalidVersion, Version, parse

METADATA: Final = "metadata.yaml"
LATEST: Final = "latest"


def semantic(text: str) -> Version | None:
    """Return the version of a tag, with or without `v`; None if the tag is not a version."""
    try:
        return parse(text.strip().removeprefix("v"))
    except InvalidVersion:
        return None


def newest_first(tags: Iterable[str]) -> list[str]:
    """Tags that are versions, the newest first and pre-releases last."""
    versions = {tag: version for tag in tags if (version := semantic(tag)) is not None}
    return sorted(versions, key=lambda tag: (not versions[tag].pre, versions[tag]), reverse=True)


class Repository(Protocol):
    """The releases of one provider."""

    @property
    def components_file(self) -> str:
        """The name of the components file in the provider's URL."""
        ...

    async def default_version(self) -> str:
        """Return the version in the URL; for `latest`, the newest release with metadata.

        Raises RepositoryError.
        """
        ...

    async def versions(self) -> list[str]:
        """Return all available versions. Raises RepositoryError."""
        ...

    async def file(self, version: str, name: str) -> bytes:
        """Return a file of a version; overrides and caches are added by wrappers.

        Raises FileMissing if the version has no such file, else RepositoryError.
        """
        ...

    async def files(self, version: str) -> list[str]:
        """Names of all files of a version. Raises RepositoryError."""
        ...
