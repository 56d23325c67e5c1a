"""JSON patch (RFC 6902) as Cluster API applies it to templates and in-place updates.

Closer to the RFC than kube-apiserver's (`json_patch`): only what is there can be replaced, moved or
copied. Where upstream's library departs from the RFC, so does this: indexes may be negative or have
leading zeros, and a last token that is empty means the container itself when it is read. A patch
is checked once, when it is compiled, and can then be applied many times.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kapy.kube.errors import KapyError
from kapy.kube.go_literals import fit_integers
from kapy.kube.patch.editing import CannotApply, DocumentEditor, child, parse_pointer

Pointer = tuple[str, ...]

COPY_LIMIT: Final = 3 * 1024 * 1024
"""Bytes that all copies of one patch may add; few could double a document again and again."""

_OPERATIONS_WITH_VALUE: Final = ("add", "replace")
_OPERATIONS_WITH_SOURCE: Final = ("move", "copy")


class BadPatch(KapyError):
    """A patch is invalid or does not apply; the document is unchanged."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a JSON patch. path, source: the JSON pointers as given; the source is the
    `from` of a move or copy.
    """

    op: str
    path: str
    value: Any = None
    source: str = ""
    tokens: Pointer = ()
    source_tokens: Pointer = ()


def operation(op: str, path: str, value: Any = None, source: str = "") -> Operation:
    """Build an operation and parse its pointers. Raises BadPatch for an unknown operation."""
    if op not in (*_OPERATIONS_WITH_VALUE, *_OPERATIONS_WITH_SOURCE, "remove", "test"):
        raise BadPatch(f'"{op}" is no operation of a JSON patch')
    return Operation(op, path, fit_integers(value), source, _tokens(path), _tokens(source))


def parse_patch(patch: Any) -> list[Operation]:
    """Parse a patch; null has no operations. Raises BadPatch."""
    if patch is None:
        return []
    if not isinstance(patch, list) or not all(isinstance(item, dict) for item in patch):
        raise BadPatch("a JSON patch is a list of operations, each an object")
    return [_read(number, item) for number, item in enumerate(patch)]


def _read(number: int, item: dict[str, Any]) -> Operation:
    op, path, source = item.get("op"), item.get("path"), item.get("from")
    if not isinstance(op, str):
        raise BadPatch(f"operation {number} does not say what it does (`op`)")
    if not isinstance(path, str):
        raise BadPatch(f"operation {number} ({op}) has no `path`")
    if op in _OPERATIONS_WITH_VALUE and "value" not in item:
        raise BadPatch(f"operation {number} ({op} {path}) has no `value`")
    if op in _OPERATIONS_WITH_SOURCE and not isinstance(source, str):
        raise BadPatch(f"operation {number} ({op} {path}) has no `from`")
    return operation(op, path, item.get("value"), source if isinstance(source, str) else "")


def _tokens(pointer: str) -> Pointer:
    """Split a JSON pointer; empty tokens before the last one are ignored."""
    tokens = parse_pointer(pointer)
    return (*filter(None, tokens[:-1]), *tokens[-1:])


def apply(document: Any, operations: Iterable[Operation]) -> Any:
    """Return `document` after all operations; unchanged parts are shared. Raises BadPatch, which
    names the operation, if one does not apply or copies too much.
    """
    editor, copied = DocumentEditor(document), 0
    for operation in operations:
        try:
            copied += _apply(editor, operation)
        except CannotApply:
            raise BadPatch(_problem(editor, operation)) from None
        if copied > COPY_LIMIT:
            raise BadPatch(f"the copies of one patch may add {COPY_LIMIT} bytes, not {copied}")
    return editor.document


def _apply(editor: DocumentEditor, operation: Operation) -> int:
    """Apply one operation; returns the number of copied bytes. Raises CannotApply."""
    if operation.path == "":
        return _apply_to_root(editor, operation)
    if not operation.tokens:
        raise CannotApply
    match operation.op:
        case "add":
            editor.add(operation.tokens, operation.value)
        case "remove":
            editor.remove(operation.tokens)
        case "replace":
            _value_at(editor, operation.tokens)
            editor.replace(operation.tokens, operation.value)
        case "move":
            editor.add(operation.tokens, _move(editor, operation))
        case "copy":
            value, size = editor.copy_of(_source(editor, operation))
            editor.add(operation.tokens, value)
            return size
        case _:
            if not editor.equals(_value_or_null(editor, operation.tokens), operation.value):
                raise CannotApply
    return 0


def _apply_to_root(editor: DocumentEditor, operation: Operation) -> int:
    """Apply an operation on the whole document; the target of a move or copy is then the
    member "".
    """
    root = editor.root
    if operation.op in _OPERATIONS_WITH_VALUE and isinstance(operation.value, (dict, list)):
        editor.replace_root(operation.value)
    elif operation.op == "move" and isinstance(root, dict):
        editor.add(_ROOT, _move(editor, operation))
    elif operation.op == "copy" and isinstance(root, dict):
        value, size = editor.copy_of(_source(editor, operation))
        editor.add(_ROOT, value)
        return size
    elif operation.op == "remove":
        editor.remove(_ROOT)
    elif operation.op != "test" or not editor.equals(root, operation.value):
        raise CannotApply
    return 0


_ROOT: Final = ("",)


def _move(editor: DocumentEditor, operation: Operation) -> Any:
    """Remove the source of a move and return its value."""
    value = _source(editor, operation)
    editor.remove(operation.source_tokens)
    return value


def _source(editor: DocumentEditor, operation: Operation) -> Any:
    if operation.source == "" and operation.op == "copy":
        return editor.root
    if not operation.source_tokens:
        raise CannotApply
    return _value_at(editor, operation.source_tokens)


def _value_at(editor: DocumentEditor, tokens: Pointer) -> Any:
    container = editor.container(tokens)
    if tokens[-1] == "" and isinstance(container, (dict, list)):
        return container
    return editor.item(container, tokens[-1])


def _value_or_null(editor: DocumentEditor, tokens: Pointer) -> Any:
    """Return the value at a path like `_value_at`, but None for a missing member of a map."""
    container = editor.container(tokens)
    if isinstance(container, dict) and tokens[-1] and tokens[-1] not in container:
        return None
    return _value_at(editor, tokens)


def _problem(editor: DocumentEditor, operation: Operation) -> str:
    document = editor.document
    request = f"{operation.op} {operation.path}"
    if operation.op in _OPERATIONS_WITH_SOURCE:
        request = f"{operation.op} {operation.source} to {operation.path}"
    if operation.op == "test":
        return f"{request}: the value there is another one, or none"
    missing = _first_missing(
        document, operation.tokens[:-1] if operation.op == "add" else operation.tokens
    )
    return f"{request}: there is no {missing}" if missing else f"{request}: it cannot be done there"


def _first_missing(document: Any, tokens: Sequence[str]) -> str:
    """Return the shortest prefix of a pointer that does not exist, "" if all of it exists."""
    for depth, token in enumerate(tokens):
        try:
            document = child(document, token)
        except CannotApply:
            return "/" + "/".join(
                item.replace("~", "~0").replace("/", "~1") for item in tokens[: depth + 1]
            )
    return ""
