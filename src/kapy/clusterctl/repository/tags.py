"""Tags of releases as versions."""

from __future__ import annotations

from collections.abc import Iterable

from kapy.kube.version import InvalidVersion, Version, parse


def semantic(text: str) -> Version | None:
    """The version of a tag, with or without `v`; None if the tag is not a version."""
    try:
        return parse(text.strip().removeprefix("v"))
    except InvalidVersion:
        return None


def newest_first(tags: Iterable[str]) -> list[str]:
    """Tags that are versions, the newest first and pre-releases last."""
    versions = {tag: version for tag in tags if (version := semantic(tag)) is not None}
    return sorted(versions, key=lambda tag: (not versions[tag].pre, versions[tag]), reverse=True)
