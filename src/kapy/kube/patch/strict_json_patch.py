"""JSON patch (RFC 6902) as Cluster API applies it to templates and in-place updates.

Closer to the RFC than kube-apiserver's (`json_patch`): only what is there can be replaced, moved or
copied. Where upstream's library departs from the RFC, so does this: indexes may be negative or have
leading zeros, and a last token that is empty means the container itself when it is read. What a
patch says is checked once, when it is compiled, so that it can be applied many times.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kapy.kube.errors import KapyError
from kapy.kube.json_numbers import fitting
from kapy.kube.patch.editing import Editor
from kapy.kube.patch.pointer import Inapplicable, member, tokens_of

Pointer = tuple[str, ...]

COPY_LIMIT: Final = 3 * 1024 * 1024
"""Bytes that all copies of one patch may add; few could double a document again and again."""

_VALUED: Final = ("add", "replace")
_MOVED: Final = ("move", "copy")


class BadPatch(KapyError):
    """A patch says nothing that could be applied, or does not apply; it has changed nothing."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One change. path and source: as they were given; source: the `from` of a move or copy."""

    op: str
    path: str
    value: Any = None
    source: str = ""
    tokens: Pointer = ()
    source_tokens: Pointer = ()


def operation(op: str, path: str, value: Any = None, source: str = "") -> Operation:
    """An operation with its pointers read. Raises BadPatch when nothing is done like that."""
    if op not in (*_VALUED, *_MOVED, "remove", "test"):
        raise BadPatch(f'"{op}" is no operation of a JSON patch')
    return Operation(op, path, fitting(value), source, _tokens(path), _tokens(source))


def compiled(patch: Any) -> list[Operation]:
    """The operations of a patch; none of null. Raises BadPatch."""
    if patch is None:
        return []
    if not isinstance(patch, list) or not all(isinstance(one, dict) for one in patch):
        raise BadPatch("a JSON patch is a list of operations, each an object")
    return [_read(number, one) for number, one in enumerate(patch)]


def _read(number: int, given: dict[str, Any]) -> Operation:
    op, path, source = given.get("op"), given.get("path"), given.get("from")
    if not isinstance(op, str):
        raise BadPatch(f"operation {number} does not say what it does (`op`)")
    if not isinstance(path, str):
        raise BadPatch(f"operation {number} ({op}) has no `path`")
    if op in _VALUED and "value" not in given:
        raise BadPatch(f"operation {number} ({op} {path}) has no `value`")
    if op in _MOVED and not isinstance(source, str):
        raise BadPatch(f"operation {number} ({op} {path}) has no `from`")
    return operation(op, path, given.get("value"), source if isinstance(source, str) else "")


def _tokens(pointer: str) -> Pointer:
    """Split a JSON pointer; empty tokens before the last one are ignored."""
    tokens = tokens_of(pointer)
    return (*filter(None, tokens[:-1]), *tokens[-1:])


def apply(document: Any, operations: Iterable[Operation]) -> Any:
    """`document` after all operations, sharing what they left alone.

    Raises BadPatch, which names the operation, when one does not apply or copies too much.
    """
    editor, copied = Editor(document), 0
    for one in operations:
        try:
            copied += _apply(editor, one)
        except Inapplicable:
            raise BadPatch(_problem(editor, one)) from None
        if copied > COPY_LIMIT:
            raise BadPatch(f"the copies of one patch may add {COPY_LIMIT} bytes, not {copied}")
    return editor.document


def _apply(editor: Editor, one: Operation) -> int:
    """Do one operation; the bytes that it copied. Raises Inapplicable."""
    if one.path == "":
        return _whole(editor, one)
    if not one.tokens:
        raise Inapplicable
    match one.op:
        case "add":
            editor.add(one.tokens, one.value)
        case "remove":
            editor.remove(one.tokens)
        case "replace":
            _found(editor, one.tokens)
            editor.replace(one.tokens, one.value)
        case "move":
            editor.add(one.tokens, _moved(editor, one))
        case "copy":
            value, size = editor.copied(_source(editor, one))
            editor.add(one.tokens, value)
            return size
        case _:
            if not editor.equals(_tested(editor, one.tokens), one.value):
                raise Inapplicable
    return 0


def _whole(editor: Editor, one: Operation) -> int:
    """An operation on everything; moving or copying there is a member called ""."""
    root = editor.root
    if one.op in _VALUED and isinstance(one.value, (dict, list)):
        editor.replace_root(one.value)
    elif one.op == "move" and isinstance(root, dict):
        editor.add(_ROOT, _moved(editor, one))
    elif one.op == "copy" and isinstance(root, dict):
        value, size = editor.copied(_source(editor, one))
        editor.add(_ROOT, value)
        return size
    elif one.op == "remove":
        editor.remove(_ROOT)
    elif one.op != "test" or not editor.equals(root, one.value):
        raise Inapplicable
    return 0


_ROOT: Final = ("",)


def _moved(editor: Editor, one: Operation) -> Any:
    """The value of a move, taken out of where it was."""
    value = _source(editor, one)
    editor.remove(one.source_tokens)
    return value


def _source(editor: Editor, one: Operation) -> Any:
    if one.source == "" and one.op == "copy":
        return editor.root
    if not one.source_tokens:
        raise Inapplicable
    return _found(editor, one.source_tokens)


def _found(editor: Editor, tokens: Pointer) -> Any:
    container = editor.container(tokens)
    if tokens[-1] == "" and isinstance(container, (dict, list)):
        return container
    return editor.item(container, tokens[-1])


def _tested(editor: Editor, tokens: Pointer) -> Any:
    """As _found, but a member that a map does not have is null."""
    container = editor.container(tokens)
    if isinstance(container, dict) and tokens[-1] and tokens[-1] not in container:
        return None
    return _found(editor, tokens)


def _problem(editor: Editor, one: Operation) -> str:
    document = editor.document
    asked = f"{one.op} {one.path}"
    if one.op in _MOVED:
        asked = f"{one.op} {one.source} to {one.path}"
    if one.op == "test":
        return f"{asked}: the value there is another one, or none"
    missing = _first_missing(document, one.tokens[:-1] if one.op == "add" else one.tokens)
    return f"{asked}: there is no {missing}" if missing else f"{asked}: it cannot be done there"


def _first_missing(document: Any, tokens: Sequence[str]) -> str:
    """The shortest part of a pointer that leads nowhere, "" if all of it leads somewhere."""
    for depth, token in enumerate(tokens):
        try:
            document = member(document, token)
        except Inapplicable:
            return "/" + "/".join(
                one.replace("~", "~0").replace("/", "~1") for one in tokens[: depth + 1]
            )
    return ""
