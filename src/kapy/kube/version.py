"""Versions of Kubernetes: parsed as tolerantly, and compared exactly, as upstream does.

Semantic Versioning 2.0 as `github.com/blang/semver/v4` reads it; `ParseTolerant` also takes a
leading `v`, leading zeros and versions without minor or patch number. Error texts are upstream's,
because they end up in conditions and in admission answers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering
from typing import Final, TypeAlias

from kapy.kube.digits import has_only_digits, parse_integer
from kapy.kube.errors import KapyError
from kapy.kube.go_literals import go_quoted
from kapy.kube.text_cache import text_cache

DIFFERENT: Final = 2
"""The result of `compare` for build tags without an order."""

_NUMBERS: Final = re.compile(r"[0-9]*\Z")
_LETTERS: Final = re.compile(r"[0-9A-Za-z-]*\Z")
_MAX_NUMBER: Final = 2**64 - 1

Identifier: TypeAlias = int | str


class InvalidVersion(KapyError, ValueError):
    """The text is not a version."""


@total_ordering
@dataclass(frozen=True, slots=True)
class Version:
    """A Kubernetes version. `==`, `<` … compare by precedence: build tags do not count (see
    `compare`).
    """

    major: int
    minor: int
    patch: int
    pre: tuple[Identifier, ...] = ()
    build: tuple[str, ...] = ()

    @property
    def core(self) -> Version:
        """The version without pre-release and build tags."""
        return Version(self.major, self.minor, self.patch)

    def __str__(self) -> str:
        text = f"{self.major}.{self.minor}.{self.patch}"
        if self.pre:
            text += "-" + ".".join(map(str, self.pre))
        return text + ("+" + ".".join(self.build) if self.build else "")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and _precedence(self) == _precedence(other)

    def __lt__(self, other: Version) -> bool:
        return _precedence(self) < _precedence(other)

    def __hash__(self) -> int:
        return hash(_precedence(self))


@text_cache(1024)
def parse_tolerant(text: str) -> Version:
    """Parse a version tolerantly: `v1.34.0`, `1.34`, `v1.34.0-rc.1+build.5`. Raises
    InvalidVersion.
    """
    parts = text.strip().removeprefix("v").split(".", 2)
    parts = [_without_zeros(part) if len(part.encode()) > 1 else part for part in parts]
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise InvalidVersion("Short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return parse(".".join(parts))


def parse_image_tag(tag: str) -> Version:
    """Parse the version in an image tag, which has `_` instead of `+`."""
    return parse_tolerant(tag.replace("_", "+"))


@text_cache(1024)
def parse(text: str) -> Version:
    """Parse a version that follows Semantic Versioning strictly."""
    if not text:
        raise InvalidVersion("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise InvalidVersion("No Major.Minor.Patch elements found")
    major, minor = _number("major", parts[0]), _number("minor", parts[1])
    rest, _, build = parts[2].partition("+")
    patch, _, pre = rest.partition("-")
    return Version(
        major,
        minor,
        _number("patch", patch),
        tuple(_prerelease(part) for part in pre.split(".")) if "-" in rest else (),
        tuple(_build_tag(part) for part in build.split(".")) if "+" in parts[2] else (),
    )


def compare(a: Version, b: Version, *, build_tags: bool = False, pre_releases: bool = True) -> int:
    """Return -1, 0 or 1 if `a` is older than, equal to or newer than `b`.

    build_tags: if the precedence is equal, compare the tags too: numbers by size, a number before a
    text, fewer tags before more; different texts have no order: DIFFERENT.
    """
    if not pre_releases:
        a = Version(a.major, a.minor, a.patch, (), a.build)
        b = Version(b.major, b.minor, b.patch, (), b.build)
    if a != b:
        return -1 if a < b else 1
    return _compare_tags(a.build, b.build) if build_tags else 0


def is_supported_skew(a: Version, b: Version) -> bool:
    """Report whether the versions are at most one minor version apart."""
    return a.major == b.major and abs(a.minor - b.minor) <= 1


def _precedence(version: Version) -> tuple[object, ...]:
    # A release comes after its pre-releases; numbers come before texts.
    pre = tuple((0, item, "") if isinstance(item, int) else (1, 0, item) for item in version.pre)
    return version.major, version.minor, version.patch, not version.pre, pre


def _compare_tags(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    for item, other in zip(a, b, strict=False):
        difference = _compare_tag(item, other)
        if difference:
            return difference
    return (len(a) > len(b)) - (len(a) < len(b))


def _compare_tag(a: str, b: str) -> int:
    numeric = _is_number(a), _is_number(b)
    if numeric == (True, True):
        entry, other = ((len(text), text) for text in (a.lstrip("0"), b.lstrip("0")))
        return (entry > other) - (entry < other)
    if numeric == (False, False):
        return 0 if a == b else DIFFERENT
    return -1 if numeric[0] else 1


def _is_number(text: str) -> bool:
    return _NUMBERS.match(text) is not None


def _without_zeros(part: str) -> str:
    part = part.lstrip("0")
    return part if has_only_digits(part[:1]) else "0" + part


def _number(name: str, text: str) -> int:
    if not _is_number(text):
        raise InvalidVersion(f"Invalid character(s) found in {name} number {go_quoted(text)}")
    if len(text) > 1 and text[0] == "0":
        raise InvalidVersion(f'{name.capitalize()} number must not contain leading zeroes "{text}"')
    return _parse_number(text)


def _parse_number(text: str) -> int:
    if not text:
        raise InvalidVersion('strconv.ParseUint: parsing "": invalid syntax')
    number = parse_integer(text)
    if number > _MAX_NUMBER:
        raise InvalidVersion(f'strconv.ParseUint: parsing "{text}": value out of range')
    return number


def _prerelease(text: str) -> Identifier:
    if not text:
        raise InvalidVersion("Prerelease is empty")
    if _is_number(text):
        if len(text) > 1 and text[0] == "0":
            raise InvalidVersion(
                f'Numeric PreRelease version must not contain leading zeroes "{text}"'
            )
        return _parse_number(text)
    if not _LETTERS.match(text):
        raise InvalidVersion(f"Invalid character(s) found in prerelease {go_quoted(text)}")
    return text


def _build_tag(text: str) -> str:
    if not text:
        raise InvalidVersion("Build meta data is empty")
    if not _LETTERS.match(text):
        raise InvalidVersion(f"Invalid character(s) found in build meta data {go_quoted(text)}")
    return text
