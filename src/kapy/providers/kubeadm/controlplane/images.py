"""References of container images, taken apart and put together again. Pure."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from kapy.kube.errors import KapyError

_REFERENCE: Final = re.compile(
    r"(?:(?P<repository>.+)/)?(?P<name>[^/:@]+)(?::(?P<tag>[\w][\w.-]*))?(?P<digest>@\w+:\w+)?\Z"
)
_NOT_IN_TAGS: Final = re.compile(r"[^-a-zA-Z0-9_.]")


class BadImage(KapyError):
    """The text is not the name of an image."""


class Image(NamedTuple):
    """`repository/name:tag@digest`."""

    repository: str
    name: str
    tag: str
    digest: str = ""

    def __str__(self) -> str:
        path = f"{self.repository}/{self.name}" if self.repository else self.name
        return path + (f":{self.tag}" if self.tag else "") + self.digest


def parse_image(text: str) -> Image:
    """The parts of an image's reference. Raises BadImage."""
    match = _REFERENCE.match(text)
    if match is None:
        raise BadImage(f'"{text}" is no image')
    return Image(
        match["repository"] or "", match["name"], match["tag"] or "", match["digest"] or ""
    )


def with_tag(image: Image, version: str) -> Image:
    """Return the image of a version; build metadata (`+`) becomes `_`, which tags allow. Raises
    BadImage for an image with a digest.
    """
    if image.digest:
        raise BadImage("image uses digest as version, cannot update tag")
    return image._replace(tag=_NOT_IN_TAGS.sub("_", version))


def with_repository(image: Image, repository: str) -> Image:
    """The image in another repository."""
    return image._replace(repository=repository.removesuffix("/"))
