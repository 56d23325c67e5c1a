"""Strings: the standard functions and cel-go's extension library."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from kapy.kube.cel.errors import EvaluationError
from kapy.kube.cel.functions.printing import format_text
from kapy.kube.cel.overloads import Function

_UPPER: Final = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise EvaluationError(f"index out of range: {index}")
    return text[index : index + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if start and not 0 <= start <= len(text):
        raise EvaluationError(f"index out of range: {start}")
    return text.find(part, start)


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if start is None:
        return text.rfind(part)
    if not 0 <= start < max(len(text), 1):
        raise EvaluationError(f"index out of range: {start}")
    return text.rfind(part, 0, start + len(part))


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    return text.replace(old, new, count)


def _split(text: str, separator: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if separator:
        return text.split(separator, count - 1 if count > 0 else -1)
    if 0 < count < len(text):
        return [*text[: count - 1], text[count - 1 :]]
    return list(text)


def _substring(text: str, start: int, end: int | None = None) -> str:
    last = len(text) if end is None else end
    if not 0 <= start <= len(text):
        raise EvaluationError(f"index out of range: {start}")
    if not 0 <= last <= len(text):
        raise EvaluationError(f"index out of range: {last}")
    if start > last:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {last}")
    return text[start:last]


def _join(items: list[str], separator: str = "") -> str:
    if not all(isinstance(item, str) for item in items):
        raise EvaluationError("no such overload")
    return separator.join(items)


def _quote(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    return re.sub(r"\\u000(7|b)", lambda match: {"7": r"\a", "b": r"\v"}[match[1]], quoted)


def _format(text: str, values: list[Any]) -> str:
    return format_text(text, values)


FUNCTIONS: Final[dict[str, Function]] = {
    "string :: contains(string) -> bool": lambda text, part: part in text,
    "string :: startsWith(string) -> bool": str.startswith,
    "string :: endsWith(string) -> bool": str.endswith,
    "string :: charAt(int) -> string": _char_at,
    "string :: indexOf(string) -> int": _index_of,
    "string :: indexOf(string, int) -> int": _index_of,
    "string :: lastIndexOf(string) -> int": _last_index_of,
    "string :: lastIndexOf(string, int) -> int": _last_index_of,
    "string :: lowerAscii() -> string": lambda text: text.translate(_LOWER),
    "string :: upperAscii() -> string": lambda text: text.translate(_UPPER),
    "string :: replace(string, string) -> string": _replace,
    "string :: replace(string, string, int) -> string": _replace,
    "string :: split(string) -> list<string>": _split,
    "string :: split(string, int) -> list<string>": _split,
    "string :: substring(int) -> string": _substring,
    "string :: substring(int, int) -> string": _substring,
    "string :: trim() -> string": lambda text: text.strip(_SPACE),
    "string :: reverse() -> string": lambda text: text[::-1],
    "string :: format(list<dyn>) -> string": _format,
    "list<string> :: join() -> string": _join,
    "list<string> :: join(string) -> string": _join,
    "strings.quote(string) -> string": _quote,
}
