"""Regular expressions in schemas."""

from __future__ import annotations

from typing import Final

from kapy.kube.regexp import BadPattern, Regexp, check, compile_pattern

_MAX_CACHED_LENGTH: Final = 64
_CACHE_SIZE: Final = 64


class Pattern:
    """One pattern, compiled at its first use. text: as in the schema.

    A few short matching values are cached, because names and versions repeat.
    """

    __slots__ = ("_error", "_known", "_regexp", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._error: str | None = None
        self._known: set[str] = set()
        self._regexp: Regexp | None = None

    @property
    def error(self) -> str:
        """Return Go's error message if the pattern is invalid, else ""."""
        if self._error is None:
            try:
                check(self.text)
                self._error = ""
            except BadPattern as error:
                self._error = str(error)
        return self._error

    def matches(self, value: str) -> bool:
        """Report whether the pattern matches anywhere in the value; an invalid one never does.

        Raises TooCostly.
        """
        if value in self._known:
            return True
        regexp = self._regexp
        try:
            if regexp is None or regexp.dropped:
                if self.error:
                    return False
                regexp = self._regexp = compile_pattern(self.text)
            result = regexp.matches(value)
        except BadPattern as error:
            self._error = str(error)
            return False
        if result and len(value) <= _MAX_CACHED_LENGTH and len(self._known) < _CACHE_SIZE:
            self._known.add(value)
        return result
