"""Finds the newest version of a repository.

Upstream: `cmd/clusterctl/client/repository/repository_versions.go`.
"""

from __future__ import annotations

from typing import Final

from kapy.clusterctl.errors import FileMissing, MetadataError, RepositoryError
from kapy.clusterctl.repository.releases import METADATA, Repository, newest_first, semantic

CONTRACT: Final = "v1beta2"
_MAX_TRIED: Final = 5  # releases are published in steps, and the newest may not be complete yet
_NONE: Final = "failed to find releases tagged with a valid semantic version number"


async def latest_version(repository: Repository) -> str:
    """Return the newest release that supports the contract.

    If the newest release supports another contract, it is the newest patch of the newest minor
    version that supports this one. Releases without metadata.yaml are incomplete and ignored;
    pre-releases count only if there is no other release. Raises RepositoryError.
    """
    ordered = newest_first(await repository.versions())
    if not ordered:
        raise RepositoryError(f"{_NONE}; write the version that is meant")
    latest, metadata = await _newest_complete(repository, ordered)
    series = _series(metadata)
    if series is None or series == _minor(latest):
        return latest
    patches = [item for item in ordered if _minor(item) == series]
    return (await _newest_complete(repository, patches))[0]


async def _newest_complete(repository: Repository, ordered: list[str]) -> tuple[str, bytes]:
    reasons = []
    for version in ordered[:_MAX_TRIED]:
        try:
            return version, await repository.file(version, METADATA)
        except FileMissing as error:
            reasons.append(str(error))
    reason = f": the newest ones have no {METADATA} ({reasons[0]})" if reasons else ""
    raise RepositoryError(f"{_NONE}{reason}; write the version that is meant")


def _series(metadata: bytes) -> tuple[int, int] | None:
    """Major and minor version of the newest release series that supports the contract, if any.

    Invalid metadata are ignored here; other callers report them.
    """
    from kapy.clusterctl.metadata import metadata_of  # most commands name a version

    try:
        newest = metadata_of(metadata, "").newest(CONTRACT)
    except MetadataError:
        return None
    return (newest.major, newest.minor) if newest else None


def _minor(tag: str) -> tuple[int, int] | None:
    version = semantic(tag)
    return None if version is None else (version.major, version.minor)
