"""Sprig's functions of regular expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kapy.kube.regexp import BadPattern, compiled, quoted


def _match(pattern: str, text: str) -> bool:
    """Match a pattern; an invalid pattern matches nothing."""
    try:
        return compiled(pattern).matches(text)
    except BadPattern:
        return False


def _must_match(pattern: str, text: str) -> bool:
    return compiled(pattern).matches(text)


def _find(pattern: str, text: str) -> str:
    return compiled(pattern).find(text) or ""


def _find_all(pattern: str, text: str, most: int) -> list[str]:
    return compiled(pattern).find_all(text, most)


def _replace(pattern: str, text: str, template: str) -> str:
    return compiled(pattern).replace(text, template)


def _replace_literal(pattern: str, text: str, replacement: str) -> str:
    return compiled(pattern).replace_literal(text, replacement)


def _split(pattern: str, text: str, most: int) -> list[str]:
    return compiled(pattern).split(text, most)


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "regexMatch": _match,
    "mustRegexMatch": _must_match,
    **dict.fromkeys(("regexFind", "mustRegexFind"), _find),
    **dict.fromkeys(("regexFindAll", "mustRegexFindAll"), _find_all),
    **dict.fromkeys(("regexReplaceAll", "mustRegexReplaceAll"), _replace),
    **dict.fromkeys(("regexReplaceAllLiteral", "mustRegexReplaceAllLiteral"), _replace_literal),
    **dict.fromkeys(("regexSplit", "mustRegexSplit"), _split),
    "regexQuoteMeta": quoted,
}
