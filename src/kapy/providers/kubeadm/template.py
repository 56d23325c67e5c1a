"""The templates that files in `KubeadmConfig.spec.files` may be (`contentFormat: Template`).

The Go template language as far as the data calls for it, which is one value: fields
(`{{ .controlPlane.version }}`), literals, `if`/`else`/`end`, comments and the trimming of white
space. Anything else is an error that says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kapy.kube.errors import KapyError

LARGEST: Final = 1 << 20
"""Bytes that one rendered file may have."""

_ACTION: Final = re.compile(r"\{\{(- )?(.*?)( -)?\}\}", re.DOTALL)
_FIELD: Final = re.compile(r"\.|(\.[A-Za-z_][A-Za-z0-9_]*)+")
_NUMBER: Final = re.compile(r"[+-]?\d+")
_STRING: Final = re.compile(r'"([^"\\\n]*)"|`([^`]*)`')
_NOTHING: Final = "<no value>"


class BadTemplate(KapyError):
    """The text is no template, or uses what is not supported here."""


def rendered(template: str, data: Mapping[str, Any]) -> str:
    """The template filled with `data`. Raises BadTemplate."""
    parts = _parts(template)
    text = "".join(_block(parts, data))
    if len(text.encode()) > LARGEST:
        raise BadTemplate(f"rendered output exceeds the {LARGEST} byte limit")
    return text


def _parts(template: str) -> Iterator[tuple[str, str]]:
    """("text", …) and ("action", …) in turn."""
    end, trim = 0, False
    for found in _ACTION.finditer(template):
        yield "text", _trimmed(template[end : found.start()], left=trim, right=bool(found[1]))
        yield "action", found[2].strip()
        end, trim = found.end(), bool(found[3])
    rest = template[end:]
    if "{{" in rest:
        raise BadTemplate(f"{_line(template, end + rest.index('{{'))}: unclosed action")
    yield "text", _trimmed(rest, left=trim, right=False)


def _block(
    parts: Iterator[tuple[str, str]],
    data: Mapping[str, Any],
    *,
    live: bool = True,
    holds: bool = True,
    nested: bool = False,
) -> Iterator[str]:
    """The output up to the `end` of this block; `live` unless something around it is left out."""
    shown, otherwise = live and holds, False
    for kind, text in parts:
        if kind == "text":
            if shown:
                yield text
        elif text == "end" and nested:
            return
        elif text == "else" and nested and not otherwise:
            shown, otherwise = live and not holds, True
        elif text.startswith("if "):
            inner = bool(_value(text[3:].strip(), data))
            yield from _block(parts, data, live=shown, holds=inner, nested=True)
        elif not (text.startswith("/*") and text.endswith("*/")):
            value = _value(text, data)
            if shown:
                yield _printed(value)
    if nested:
        raise BadTemplate("unexpected EOF: an action is not ended")


def _value(text: str, data: Mapping[str, Any]) -> Any:
    if _FIELD.fullmatch(text):
        value: Any = data
        for name in text.split(".")[1:]:
            value = value.get(name) if name and isinstance(value, Mapping) else value
        return value
    if string := _STRING.fullmatch(text):
        return string[1] if string[1] is not None else string[2]
    if _NUMBER.fullmatch(text):
        return int(text)
    if text in ("true", "false"):
        return text == "true"
    raise BadTemplate(
        f'the action "{text}" is not supported: only fields, literals and if/else/end are'
    )


def _printed(value: Any) -> str:
    if value is None:
        return _NOTHING
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "map[" + " ".join(f"{k}:{_printed(value[k])}" for k in sorted(value)) + "]"
    return str(value)


def _trimmed(text: str, *, left: bool, right: bool) -> str:
    if left:
        text = text.lstrip(" \t\r\n")
    return text.rstrip(" \t\r\n") if right else text


def _line(template: str, at: int) -> int:
    return template.count("\n", 0, at) + 1
