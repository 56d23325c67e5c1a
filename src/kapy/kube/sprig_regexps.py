"""Sprig's functions of regular expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kapy.kube.regexp import BadPattern, compile_pattern, quote


def _match(pattern: str, text: str) -> bool:
    """Match a pattern; an invalid pattern matches nothing."""
    try:
        return compile_pattern(pattern).matches(text)
    except BadPattern:
        return False


def _must_match(pattern: str, text: str) -> bool:
    return compile_pattern(pattern).matches(text)


def _find(pattern: str, text: str) -> str:
    return compile_pattern(pattern).find(text) or ""


def _find_all(pattern: str, text: str, limit: int) -> list[str]:
    return compile_pattern(pattern).find_all(text, limit)


def _replace(pattern: str, text: str, template: str) -> str:
    return compile_pattern(pattern).replace(text, template)


def _replace_literal(pattern: str, text: str, replacement: str) -> str:
    return compile_pattern(pattern).replace_literal(text, replacement)


def _split(pattern: str, text: str, limit: int) -> list[str]:
    return compile_pattern(pattern).split(text, limit)


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "regexMatch": _match,
    "mustRegexMatch": _must_match,
    **dict.fromkeys(("regexFind", "mustRegexFind"), _find),
    **dict.fromkeys(("regexFindAll", "mustRegexFindAll"), _find_all),
    **dict.fromkeys(("regexReplaceAll", "mustRegexReplaceAll"), _replace),
    **dict.fromkeys(("regexReplaceAllLiteral", "mustRegexReplaceAllLiteral"), _replace_literal),
    **dict.fromkeys(("regexSplit", "mustRegexSplit"), _split),
    "regexQuoteMeta": quote,
}
