"""CEL functions of Kubernetes' semver library."""

from __future__ import annotations

from typing import Final

from kapy.kube.cel.errors import EvaluationError
from kapy.kube.cel.overloads import Function
from kapy.kube.version import InvalidVersion, Version, parse, parse_tolerant


def _semver(text: str, normalize: bool = False) -> Version:  # noqa: FBT001, FBT002 (CEL's signature)
    try:
        return parse_tolerant(text) if normalize else parse(text)
    except InvalidVersion as error:
        raise EvaluationError(str(error)) from None


def _is_semver(text: str, normalize: bool = False) -> bool:  # noqa: FBT001, FBT002 (CEL's signature)
    try:
        _semver(text, normalize)
    except EvaluationError:
        return False
    return True


def _compare(left: Version, right: Version) -> int:
    return (left > right) - (left < right)


_KIND: Final = "kubernetes.Semver"

FUNCTIONS: Final[dict[str, Function]] = {
    "isSemver(string) -> bool": _is_semver,
    "isSemver(string, bool) -> bool": _is_semver,
    f"semver(string) -> {_KIND}": _semver,
    f"semver(string, bool) -> {_KIND}": _semver,
    f"{_KIND} :: major() -> int": lambda value: value.major,
    f"{_KIND} :: minor() -> int": lambda value: value.minor,
    f"{_KIND} :: patch() -> int": lambda value: value.patch,
    f"{_KIND} :: compareTo({_KIND}) -> int": _compare,
    f"{_KIND} :: isGreaterThan({_KIND}) -> bool": lambda value, two: value > two,
    f"{_KIND} :: isLessThan({_KIND}) -> bool": lambda value, two: value < two,
}
