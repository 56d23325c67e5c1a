"""Moves the comments of a YAML document to its converted form.

A comment belongs to the field on its line, or else to the next field. In the converted text it is
placed at the same field; if that field is gone, at the nearest remaining enclosing field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import yaml

Path: TypeAlias = tuple[str | int, ...]

_END: Final[Path] = ("\0",)
"""The place of comments after the last field."""


@dataclass(frozen=True, slots=True)
class _Comment:
    """A comment of a YAML file. line: the number of its line, from 0. trailing: whether the line
    has other content.
    """

    line: int
    text: str
    trailing: bool


@dataclass(frozen=True, slots=True)
class _Field:
    """A field or an item of a list.

    line, last: its first and last line, from 0. simple: its value is text or a number that begins
    on the field's line.
    """

    path: Path
    line: int
    last: int
    simple: bool


@dataclass(frozen=True, slots=True)
class Comments:
    """The comments of a document, in their order."""

    comments: tuple[_Comment, ...]

    def __bool__(self) -> bool:
        return bool(self.comments)

    def insert_into(self, text: str, before: str) -> str:
        """Return the converted document with the comments inserted. before: the original text."""
        places = {field.path: field for field in _fields(text)}
        above: dict[int, list[str]] = {}
        beside: dict[int, str] = {}
        lines = text.removesuffix("\n").split("\n")
        for comment, path in self._assignments(before):
            place, same = _new_position(path, places)
            line = place.line if place else (len(lines) if path == _END else 0)
            if comment.trailing and place and same and _has_room(place) and line not in beside:
                beside[line] = comment.text
            else:
                above.setdefault(line, []).append(comment.text)
        return "".join(_lines(lines, above, beside))

    def _assignments(self, text: str) -> Iterator[tuple[_Comment, Path]]:
        """Each comment with its field."""
        fields = sorted(_fields(text), key=lambda field: field.line)
        for comment in self.comments:
            if comment.trailing:
                on_line = [field for field in fields if field.line <= comment.line]
                yield comment, on_line[-1].path if on_line else ()
            else:
                after = [field for field in fields if field.line > comment.line]
                yield comment, after[0].path if after else _END


def comments_of(text: str) -> Comments:
    """Return the comments of a document that can be read."""
    return Comments(tuple(_comments(text)) if "#" in text else ())


def _comments(text: str) -> Iterator[_Comment]:
    """Find the comments of a YAML text: each # between two tokens, or after the `|` of a block
    scalar.
    """
    end = 0
    for token in yaml.scan(text, Loader=yaml.CSafeLoader):
        start = token.start_mark.index
        yield from _comments_between(text, end, start)
        if isinstance(token, yaml.ScalarToken) and token.style in ("|", ">"):
            yield from _comments_between(text, start, text.find("\n", start))
        end = max(end, token.end_mark.index)
    yield from _comments_between(text, end, len(text))


def _comments_between(text: str, start: int, end: int) -> Iterator[_Comment]:
    at = text.find("#", start, end)
    while at >= 0:
        stop = text.find("\n", at)
        stop = len(text) if stop < 0 else stop
        line = text.count("\n", 0, at)
        begin = text.rfind("\n", 0, at) + 1
        yield _Comment(line, text[at:stop].rstrip(), trailing=bool(text[begin:at].strip()))
        at = text.find("#", stop, end)


def _fields(text: str) -> list[_Field]:
    root = yaml.compose(text, Loader=yaml.CSafeLoader)
    return list(_fields_of(root, ())) if root is not None else []


def _fields_of(node: yaml.Node, path: Path) -> Iterator[_Field]:
    entries: list[tuple[str | int, yaml.Node, yaml.Node]] = []
    if isinstance(node, yaml.MappingNode):
        entries = [(str(key.value), key, value) for key, value in node.value]
    elif isinstance(node, yaml.SequenceNode):
        entries = [(place, item, item) for place, item in enumerate(node.value)]
    for name, first, value in entries:
        own = (*path, name)
        simple = isinstance(value, yaml.ScalarNode) and value.style not in ("|", ">")
        yield _Field(own, first.start_mark.line, value.end_mark.line, simple)
        yield from _fields_of(value, own)


def _new_position(path: Path, places: Mapping[Path, _Field]) -> tuple[_Field | None, bool]:
    """Return the field at a path, or the nearest enclosing one; and whether it is the same field.

    A field that is gone may have moved down, if exactly one field has its name.
    """
    parent: Path = ()
    for part in path:
        if (*parent, part) in places:
            parent = (*parent, part)
            continue
        inside = (place for place in places if place[: len(parent)] == parent)
        moved = [entry for entry in inside if entry[-1] == part and isinstance(part, str)]
        if len(moved) != 1:
            return places.get(parent), False
        parent = moved[0]
    return places.get(parent), True


def _has_room(place: _Field) -> bool:
    """Return whether a comment fits on the field's line, which is not so inside a multi-line
    text.
    """
    return not place.simple or place.line == place.last


def _lines(lines: list[str], above: dict[int, list[str]], beside: dict[int, str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        indent = line[: len(line) - len(line.lstrip(" "))]
        yield from (f"{indent}{item}\n" for item in above.get(number, ()))
        yield f"{line} {beside[number]}\n" if number in beside else f"{line}\n"
    yield from (f"{item}\n" for item in above.get(len(lines), ()))
