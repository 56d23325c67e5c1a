"""Parse files with variables that have no values: each variable stays visible in its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from kapy.clusterctl.envsubst import BadSubstitution
from kapy.clusterctl.manifests import BadManifest, documents_of
from kapy.clusterctl.variables import replace_variables, variables_of
from kapy.kube import Document

_TOKEN: Final = re.compile(r"kapyvariable(\d{1,6})x", re.IGNORECASE)
_ALONE: Final = re.compile(r"^[ \t]*(?:-[ \t]+)?\$\{[^}\n]*\}[ \t]*$", re.MULTILINE)
"""A line that is nothing but a variable: it stands for any number of lines."""


def documents_in(text: str, source: str) -> list[Document]:
    """Parse the objects of a file, with `${NAME}` in place of its variables.

    Most files are valid YAML as they are. Other files are YAML only after substitution: their
    variables get placeholder values that are valid everywhere in YAML, and each value becomes
    `${NAME}` again. Raises BadManifest.
    """
    try:
        return documents_of(text, source)
    except BadManifest:
        names = _names(text)
        for candidate in _candidates(text, names):
            try:
                return [
                    _restore_variables(document, names)
                    for document in documents_of(candidate, source)
                ]
            except BadManifest:
                continue
        raise


def _names(text: str) -> list[str]:
    try:
        return list(variables_of(text))
    except BadSubstitution:
        return []


def _candidates(text: str, names: list[str]) -> Iterator[str]:
    """Yield the text with placeholder values: for variables without default, or for all; without
    lines that consist of a variable only, since the variable may be empty.
    """
    if not names:
        return
    tokens = {name: f"kapyvariable{place}x" for place, name in enumerate(names)}
    defaults = variables_of(text)
    required = {name: tokens[name] for name in names if defaults[name] is None}
    for body in (text, _ALONE.sub("", text)):
        for values in (required, tokens):
            yield replace_variables(body, values)


def _restore_variables(value: Any, names: list[str]) -> Any:
    if isinstance(value, dict):
        return {
            _restore_variables(key, names): _restore_variables(item, names)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_restore_variables(item, names) for item in value]
    if isinstance(value, str):
        return _TOKEN.sub(lambda match: _variable_or_token(int(match[1]), match[0], names), value)
    return value


def _variable_or_token(place: int, token: str, names: list[str]) -> str:
    return f"${{{names[place]}}}" if place < len(names) else token
