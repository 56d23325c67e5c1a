"""Variables: what was said on the command line, then the environment, then the file."""

from __future__ import annotations

from collections.abc import Mapping


class Variables:
    """Values by name; names in any case.

    In the environment a name is looked for in capitals and with `_` for `-`, as upstream does; a
    variable that is there and empty counts.
    """

    def __init__(self, environ: Mapping[str, str], texts: Mapping[str, str]) -> None:
        self._given: dict[str, str] = {}
        self._environ = environ
        self._texts = texts

    def get(self, name: str) -> str | None:
        """The value, or None where nobody says one."""
        key = name.lower()
        if key in self._given:
            return self._given[key]
        found = self._environ.get(name.upper().replace("-", "_"))
        return self._texts.get(key) if found is None else found

    def set(self, name: str, value: str) -> None:
        """Let a value count more than environment and file, as a flag does."""
        self._given[name.lower()] = value
