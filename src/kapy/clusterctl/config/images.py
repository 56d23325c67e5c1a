"""Image overrides: the `images` part of the configuration.

Entries are merged in this order: `all`, then a component (`cert-manager`, `infrastructure-aws`),
then one of its images (`cert-manager/cert-manager-cainjector`). Upstream:
`cmd/clusterctl/client/config/imagemeta_client.go`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from kapy.clusterctl.config.file import File, text_of
from kapy.clusterctl.errors import ConfigError

_PART: Final = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_REFERENCE: Final = re.compile(
    r"(?P<host>(?:[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?)"
    rf"/(?P<path>(?:{_PART}/)*)(?P<name>{_PART})"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?(?:@(?P<digest>[A-Za-z][\w+.-]*:[0-9a-fA-F]{32,}))?",
    re.ASCII,
)


class Images:
    """The image overrides; invalid entries are reported at their first use."""

    def __init__(self, file: File) -> None:
        self._file = file

    def override(self, component: str, image: str) -> str:
        """Return the image to use in place of an image of a component.

        Raises ConfigError if the image name is incomplete, or the configuration is invalid.
        """
        parts = reference(image)
        entries = self._entries()
        meta: dict[str, str] = {}
        for place in ("all", component, f"{component}/{parts.name}"):
            meta |= entries.get(place, {})
        if not meta:
            return image
        altered = replace(parts, **meta)
        return str(replace(altered, repository=altered.repository.removesuffix("/")))

    def _entries(self) -> dict[str, dict[str, str]]:
        entries: Any = self._file.values.get("images") or {}
        if not isinstance(entries, Mapping):
            raise self._error("images must be a map of components")
        return {place: self._entry(place, entry) for place, entry in entries.items()}

    def _entry(self, place: str, entry: Any) -> dict[str, str]:
        if not isinstance(entry or {}, Mapping):
            raise self._error(f"images.{place} must be a map with repository, name or tag")
        result = {key: text_of((entry or {}).get(key)) for key in ("repository", "name", "tag")}
        return {key: text for key, text in result.items() if text}

    def _error(self, problem: str) -> ConfigError:
        return ConfigError(
            f"failed to unmarshal image override configurations: {self._file.source}: {problem}"
        )


@dataclass(frozen=True, slots=True)
class Reference:
    """The parts of a full image name: `repository/name:tag@digest`."""

    repository: str
    name: str
    tag: str
    digest: str

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.repository}/{self.name}{tag}" + (f"@{self.digest}" if self.digest else "")


def reference(image: str) -> Reference:
    """Parse a full image name. Raises ConfigError."""
    match = _REFERENCE.fullmatch(image)
    if match is None:
        raise ConfigError(
            f"couldn't parse image name: {image!r} is no image with its registry "
            "(registry/path/name:tag)"
        )
    host = match["host"]
    named = "." in host or ":" in host or host == "localhost" or host != host.lower()
    short = host == "docker.io" and not match["path"]
    if not named or short or host == "index.docker.io":
        raise ConfigError(
            f"couldn't parse image name: repository name must be canonical, and {image!r} is "
            "not: write it with its registry, as in docker.io/library/nginx:1.29"
        )
    repository = f"{host}/{match['path']}".removesuffix("/")
    return Reference(repository, match["name"], match["tag"] or "", match["digest"] or "")
