"""ConfigMaps and Secrets: keys, sizes, types, immutability."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator

from kapy.apiserver.resources.builtin.strategy import BuiltInStrategy
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, FieldErrors, forbidden, invalid, required

_DATA_LIMIT = 1024 * 1024
_DATA_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_DATA_KEY_SENTENCE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',"
    "  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)


def _key_errors(field: str, keys: Iterable[str]) -> Iterator[FieldError]:
    for key in keys:
        path = f"{field}[{key}]"
        if len(key) > 253:
            yield invalid(path, key, "must be no more than 253 characters")
        if not _DATA_KEY.fullmatch(key):
            yield invalid(path, key, _DATA_KEY_SENTENCE)
        elif key == ".":
            yield invalid(path, key, "must not be '.'")
        elif key == "..":
            yield invalid(path, key, "must not be '..'")
        elif key.startswith(".."):
            yield invalid(path, key, "must not start with '..'")


def _immutable_errors(document: Document, old: Document, *fields: str) -> Iterator[FieldError]:
    """Yield errors for changes of an object with `immutable: true`."""
    if not old.get("immutable"):
        return
    text = "field is immutable when `immutable` is set"
    if not document.get("immutable"):
        yield forbidden("immutable", text)
    for field in fields:
        if document.get(field) != old.get(field):
            yield forbidden(field, text)


class ConfigMapStrategy(BuiltInStrategy):
    """The strategy of ConfigMaps: validated keys, at most one megabyte of data."""

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        result: list[FieldError] = FieldErrors()
        data, binary = document.get("data") or {}, document.get("binaryData") or {}
        for key in data:
            result += _key_errors("data", [key])
            if key in binary:
                result.append(
                    invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
                )
        result += _key_errors("binaryData", binary)
        size = sum(len(value.encode()) for value in data.values())
        size += sum(len(value) * 3 // 4 for value in binary.values())
        if size > _DATA_LIMIT:
            result.append(_too_large_error(""))
        if old is not None:
            result += _immutable_errors(document, old, "data", "binaryData")
        return result


def _too_large_error(field: str) -> FieldError:
    text = f"may not be more than {_DATA_LIMIT} bytes"
    return FieldError("FieldValueTooLong", field or "[]", text)


class SecretStrategy(BuiltInStrategy):
    """The strategy of Secrets: the type is immutable, and stringData is merged into data."""

    def default(self, document: Document) -> None:
        if not document.get("type"):
            document["type"] = "Opaque"
        plain = document.pop("stringData", None)
        if plain:
            coded = {key: base64.b64encode(value.encode()).decode() for key, value in plain.items()}
            document["data"] = {**(document.get("data") or {}), **coded}

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        result: list[FieldError] = FieldErrors()
        data = document.get("data") or {}
        result += _key_errors("data", data)
        if sum(len(value) * 3 // 4 for value in data.values()) > _DATA_LIMIT:
            result.append(_too_large_error("data"))
        result += _type_errors(document, data)
        if old is not None:
            if document.get("type") != old.get("type"):
                result.append(invalid("type", document.get("type"), "field is immutable"))
            result += _immutable_errors(document, old, "data")
        return result

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        del old
        if document.get("type") != "kubernetes.io/tls":
            return []
        data = document.get("data") or {}
        for key, what in (("tls.crt", "certificate"), ("tls.key", "key")):
            if b"-----BEGIN " not in base64.b64decode(data.get(key) or ""):
                return [f"tls: failed to find any PEM data in {what} input"]
        return []


_NEEDED = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}
_ACCOUNT = "kubernetes.io/service-account.name"


def _type_errors(document: Document, data: Document) -> Iterator[FieldError]:
    kind = document.get("type", "")
    for key in _NEEDED.get(kind, ()):
        if key not in data:
            yield required(f"data[{key}]")
        elif key.startswith(".docker"):
            yield from _json_errors(key, data[key])
    if kind == "kubernetes.io/basic-auth" and not {"username", "password"} & set(data):
        yield required("data[username]")
        yield required("data[password]")
    if kind == "kubernetes.io/service-account-token":
        annotations = document["metadata"].get("annotations") or {}
        if not annotations.get(_ACCOUNT):
            yield required(f"metadata.annotations[{_ACCOUNT}]")


def _json_errors(key: str, value: str) -> Iterator[FieldError]:
    try:
        json.loads(base64.b64decode(value))
    except RecursionError:
        yield invalid(f"data[{key}]", "<secret contents redacted>", "exceeded max depth")
    except ValueError as error:
        text = _go_sentence(error)
        yield invalid(f"data[{key}]", "<secret contents redacted>", text)


def _go_sentence(error: ValueError) -> str:
    """Return Go's message for common JSON errors, without the content of the secret."""
    if not isinstance(error, json.JSONDecodeError):
        return "invalid character"
    if not error.doc[error.pos :]:
        return "unexpected end of JSON input"
    return f"invalid character '{error.doc[error.pos]}' looking for beginning of value"
