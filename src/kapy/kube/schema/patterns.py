"""Regular expressions of schemas, which are RE2, run by Python's `re`.

What the two write differently is translated: `$` and `\\z` end the text (Python's `$` allows a
newline after it), classes are ASCII, POSIX classes are spelled out, `\\Q…\\E` is quoted.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_POSIX: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7F",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_TOKEN: Final = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|$)|\[:(?P<posix>[a-z]+):\]|(?P<escape>\\.)|(?P<one>.)", re.DOTALL
)


class Pattern:
    """One pattern. text: as the schema has it. error: why it cannot be used, or ""."""

    __slots__ = ("_search", "error", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.error = ""
        try:
            self._search = compiled_pattern(text).search
        except re.error as error:
            self.error = str(error)

    def matches(self, value: str) -> bool:
        """Whether the pattern is found anywhere in the value; one with an error never is."""
        return not self.error and self._search(value) is not None


@lru_cache(maxsize=4096)
def compiled_pattern(text: str) -> re.Pattern[str]:
    return re.compile(_translated(text), re.ASCII)


def _translated(text: str) -> str:
    result, in_class = [], False
    for token in _TOKEN.finditer(text):
        if token["quoted"] is not None:
            result.append(re.escape(token["quoted"]))
        elif token["posix"]:
            result.append(_POSIX.get(token["posix"], token[0]))
        elif token["escape"]:
            result.append(r"\Z" if token[0] == r"\z" else token[0])
        else:
            result.append(_one(token[0], in_class=in_class))
            in_class = token[0] == "[" or (in_class and token[0] != "]")
    return "".join(result)


def _one(character: str, *, in_class: bool) -> str:
    if in_class:
        return r"\[" if character == "[" else character
    return r"\Z" if character == "$" else character
