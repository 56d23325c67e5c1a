"""Regular expressions of schemas."""

from __future__ import annotations

from typing import Final

from kapy.kube.regexp import BadPattern, Regexp, check, compiled

_SHORT: Final = 64
_KEPT: Final = 64


class Pattern:
    """One pattern. text: as the schema has it.

    It is read when it is first needed. A few short values that it was found in are remembered: most
    values are names and versions, which come again and again.
    """

    __slots__ = ("_error", "_known", "_regexp", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._error: str | None = None
        self._known: set[str] = set()
        self._regexp: Regexp | None = None

    @property
    def error(self) -> str:
        """Why the pattern cannot be used, or "", in Go's words."""
        if self._error is None:
            try:
                check(self.text)
                self._error = ""
            except BadPattern as error:
                self._error = str(error)
        return self._error

    def matches(self, value: str) -> bool:
        """Whether the pattern is found anywhere in the value; one with an error never is. Raises
        TooCostly."""
        if value in self._known:
            return True
        regexp = self._regexp
        try:
            if regexp is None or regexp.dropped:
                if self.error:
                    return False
                regexp = self._regexp = compiled(self.text)
            found = regexp.matches(value)
        except BadPattern as error:
            self._error = str(error)
            return False
        if found and len(value) <= _SHORT and len(self._known) < _KEPT:
            self._known.add(value)
        return found
