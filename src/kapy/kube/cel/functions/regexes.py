"""Regular expressions (RE2): `matches`, and Kubernetes' `find` and `findAll`."""

from __future__ import annotations

import re
from typing import Final

from kapy.kube.cel.errors import EvaluationError
from kapy.kube.cel.overloads import Function
from kapy.kube.schema.patterns import compiled_pattern


def regex(pattern: str) -> re.Pattern[str]:
    """The pattern, compiled once. Raises EvaluationError."""
    try:
        return compiled_pattern(pattern)
    except re.error as error:
        raise EvaluationError(f"error parsing regexp: {error}") from None


def _matches(text: str, pattern: str) -> bool:
    return regex(pattern).search(text) is not None


def _find(text: str, pattern: str) -> str:
    found = regex(pattern).search(text)
    return found[0] if found else ""


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    found = [one[0] for one in regex(pattern).finditer(text)]
    return found if most < 0 else found[:most]


FUNCTIONS: Final[dict[str, Function]] = {
    "matches(string, string) -> bool": _matches,
    "string :: matches(string) -> bool": _matches,
    "string :: find(string) -> string": _find,
    "string :: findAll(string) -> list<string>": _find_all,
    "string :: findAll(string, int) -> list<string>": _find_all,
}
