"""Application of the JSON patches of mutating webhooks, with kube-apiserver's errors."""

from __future__ import annotations

from typing import Any, Final

from kapy.kube import Document
from kapy.kube.digits import has_only_digits, parse_digits
from kapy.kube.errors import ApiError
from kapy.kube.patch import json_patch

_GONE: Final = "missing value"


class PatchFailed(Exception):
    """The patch cannot be applied; the message is that of kube-apiserver's patch library."""


def apply_patch(document: Document, operations: Any) -> Document:
    """Return the object after the patch; unchanged parts are shared. Raises PatchFailed."""
    if not isinstance(operations, list):
        raise PatchFailed("json: cannot unmarshal the patch into Go value of type jsonpatch.Patch")
    result: Any = document
    for operation in operations:
        if not isinstance(operation, dict):
            raise PatchFailed("json: cannot unmarshal an operation of the patch")
        try:
            result = json_patch.apply(result, [operation])
        except ApiError:
            raise PatchFailed(_describe_failure(result, operation)) from None
    if not isinstance(result, dict):
        raise PatchFailed("the patch does not give an object")
    return result


def _describe_failure(document: Any, operation: Document) -> str:
    name, path = operation.get("op"), operation.get("path")
    match name:
        case "add" | "remove" | "replace" if isinstance(path, str):
            return _describe_missing(document, name, path)
        case "test" if isinstance(path, str):
            if isinstance(_container(document, path)[0], dict | list):
                return f"testing value {path} failed: test failed"
            return f"test operation does not apply: is missing path: {path}: {_GONE}"
        case "move" | "copy" if isinstance(path, str):
            source = operation.get("from")
            return f"{name} operation does not apply: doc is missing from path: {source}: {_GONE}"
        case "add" | "remove" | "replace" | "test" | "move" | "copy":
            return f"{name} operation failed to decode path: {_GONE}"
    return f"Unexpected kind: {name or 'unknown'}"


def _container(document: Any, path: str) -> tuple[Any, str]:
    """Return the parent of the value at a path, and the last token of the path."""
    container, last = document, ""
    for at, token in enumerate(path.split("/")[1:]):
        container = _member(container, last) if at else container
        last = token.replace("~1", "/").replace("~0", "~")
    return container, last


def _describe_missing(document: Any, name: str, path: str) -> str:
    container, last = _container(document, path)
    if isinstance(container, dict):
        why = f"Unable to remove nonexistent key: {last}: {_GONE}"
    elif not isinstance(container, list):
        quoted = path if name == "replace" else f'"{path}"'
        return f"{name} operation does not apply: doc is missing path: {quoted}: {_GONE}"
    elif name == "replace":
        return f"replace operation does not apply: doc is missing key: {path}: {_GONE}"
    elif has_only_digits(last.lstrip("-")):
        why = f"Unable to access invalid index: {last}: invalid index referenced"
    else:
        why = f'strconv.Atoi: parsing "{last}": invalid syntax'
    return f"error in {name} for path: '{path}': {why}"


def _member(node: Any, token: str) -> Any:
    if isinstance(node, dict):
        return node.get(token)
    number = parse_digits(token) if isinstance(node, list) else None
    return node[number] if number is not None and number < len(node) else None
