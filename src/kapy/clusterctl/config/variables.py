"""Variables in order of precedence: the command line, the environment, the configuration file."""

from __future__ import annotations

from collections.abc import Mapping


class Variables:
    """Values by name, in any case.

    The environment is searched for the name in upper case with `_` in place of `-`, as in upstream;
    a variable that is set but empty counts.
    """

    def __init__(self, environ: Mapping[str, str], texts: Mapping[str, str]) -> None:
        self._given: dict[str, str] = {}
        self._environ = environ
        self._texts = texts

    def get(self, name: str) -> str | None:
        """Return the value, or None if it is not set anywhere."""
        key = name.lower()
        if key in self._given:
            return self._given[key]
        result = self._environ.get(name.upper().replace("-", "_"))
        return self._texts.get(key) if result is None else result

    def set(self, name: str, value: str) -> None:
        """Set a value that takes precedence over environment and file, as a flag does."""
        self._given[name.lower()] = value
