"""Repositories that are reached over the network, by what their URLs look like."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kapy.clusterctl.errors import RepositoryError
from kapy.clusterctl.repository import Repository

if TYPE_CHECKING:
    from kapy.clusterctl.config import Config


def far_repository(url: str, label: str, config: Config, components_file: str) -> Repository:
    """The repository of a URL that is no folder's. Raises RepositoryError."""
    scheme = urlsplit(url).scheme
    raise RepositoryError(
        f'invalid provider url. there are no provider implementation for "{scheme}" schema'
    )
