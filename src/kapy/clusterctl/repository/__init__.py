"""Repositories of provider releases: the versions and the files of each version.

Every source (a folder, GitHub, GitLab, an OCI registry, a dict) implements
`Repository`. `repository_of` returns the repository of a provider's URL, with the user's overrides
and, for a remote source, the download cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from kapy.clusterctl.errors import RepositoryError

if TYPE_CHECKING:
    from kapy.clusterctl.config import Config
    from kapy.clusterctl.provider import Provider
    from kapy.clusterctl.repository.releases import Repository


def repository_of(provider: Provider, config: Config) -> Repository:
    """Return the repository of a provider. It sends no request yet. Raises RepositoryError for an
    invalid URL.

    A folder is read without an event loop; all other sources need one (see `is_local`).
    """
    try:
        return repository_at(provider.url, provider.label, config, provider)
    except RepositoryError as error:
        raise RepositoryError(
            f"failed to get repository client for the {provider.type.value} with name "
            f"{provider.name}: {error}"
        ) from error


def repository_at(
    url: str, label: str, config: Config, provider: Provider | None = None
) -> Repository:
    """Return the repository at a URL. label: the name in folders: a provider's, or cert-manager.

    Raises RepositoryError.
    """
    from kapy.clusterctl.repository.folder import OverriddenRepository

    return OverriddenRepository(
        _at(url, label, config, provider), label, config.overrides_folder, config.tell
    )


def is_local(url: str) -> bool:
    """Return whether a repository is a folder on this machine."""
    return urlsplit(url).scheme in ("", "file")


def _at(url: str, label: str, config: Config, provider: Provider | None) -> Repository:
    parts = _split(url)
    if parts.scheme in ("", "file"):
        from kapy.clusterctl.repository.folder import folder_at

        return folder_at(parts.path, label, url)
    from kapy.clusterctl.repository.remote import remote_repository

    return remote_repository(url, config, provider)


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError as error:
        raise RepositoryError(f'failed to parse repository url "{url}": {error}') from error
