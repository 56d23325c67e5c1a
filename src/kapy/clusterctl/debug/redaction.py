"""Removes secrets from documents and texts for archives that users send to others. Pure.

Three methods complement each other. Values of the cluster's Secrets are removed wherever they occur
(`learn`). Fields and variables are judged by their names. Texts are searched for patterns of keys,
tokens and hashes. Encoded content (base64, gzip, JSON in a string) is decoded and searched, too.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from typing import Any, Final
from urllib.parse import quote

from kapy.kube import Document
from kapy.kube.digits import has_only_digits
from kapy.kube.foreign_json import BadJson, decode_json

REDACTED: Final = "REDACTED"
MIN_SECRET_LENGTH: Final = 8
"""The minimum length of a value that is searched for: shorter ones occur in texts by chance."""
MAX_SECRET_LENGTH: Final = 4096
MAX_LEARNED: Final = 4000
MAX_DEPTH: Final = 4
"""The maximum number of nested encodings that are decoded: boot data in a Secret in an annotation,
and one more."""
MAX_UNPACKED: Final = 4 << 20
_NOT_SECRET: Final = frozenset(
    ("format", "namespace", "ca.crt", "tls.crt", "expiration", "description")
)
"""Keys of Secrets whose values are no secrets."""

_WORDS: Final = (
    r"pass(?:w|wd|word|phrase)|secret|token|credential|api[-_]?key|access[-_]?key|private[-_]?key"
    r"|client[-_]?key|certificate[-_]?key|encryption[-_]?key|key[-_]?data"
    r"|dockerconfig"
)
_NAMES: Final = re.compile(_WORDS, re.IGNORECASE)
_PLACES: Final = re.compile(
    r"(?:name|names|ref|refs|reference|namespace|kind|apiversion|group|groups|file|path|dir|ttl|url"
    r"|controller|controllers|count|version|type|timeout|seconds|enabled|plural)$",
    re.IGNORECASE,
)
"""Endings of names that refer to a secret's location or another property of it."""

_PEM: Final = re.compile(
    r"-----BEGIN ((?:[A-Z0-9]+ ){0,4}PRIVATE KEY)-----"
    r"(?:.{0,12288}?-----END \1-----|(?:\\[nr]|[A-Za-z0-9+/=\s])*+)",
    re.DOTALL,
)
_PEM_END: Final = re.compile(r"-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY-----")
_LONGEST_KEY: Final = 12288
_SCHEMES: Final = re.compile(
    r"(\bbearer\s+|\bauthorization\\{0,8}[\"']?\s{0,8}[:=]\s{0,8}\\{0,8}[\"']?\w{1,16}\s+)"
    r"[\w.~+/=-]{6,}",
    re.IGNORECASE,
)
_JWT: Final = re.compile(r"\beyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]*")
_BOOTSTRAP: Final = re.compile(r"(?<![\w.-])[a-z0-9]{6}\.[a-z0-9]{16}(?![\w.-])")
_CRYPT: Final = re.compile(r"\$(?:[156y]|2[aby]|gy|7)\$[^\s:\"'\\]{16,}")
_USER: Final = re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://)[^/\s:@\"']{1,256}:[^/\s@\"']{1,256}@")
_CURL: Final = re.compile(r"(?<!\S)(-u|--user)([ =])([\w.@-]{1,64}):\S+")
_VALUE: Final = r"(?:\\{0,8}\"(?:[^\"\\]|\\.){0,2048}+\\{0,8}\"?|'[^'\n]{0,2048}'?|[^\s,;&}\]\"']+)"
_BETWEEN: Final = r"\\*[\"']?[ \t]{0,8}(?::[ \t]{0,8}(?:\n[ \t]{1,64})?|=[ \t]{0,8}|(?<=[ \t]))"
_FIELD: Final = re.compile(
    rf"(?:{_WORDS})(?P<rest>[\w.-]{{0,64}}+)(?P<between>{_BETWEEN})(?P<value>{_VALUE})",
    re.IGNORECASE,
)
"""Matches a name from the word that makes it a secret; the start of the name is checked afterwards.
"""
_BLOCK: Final = re.compile(
    rf"(?:{_WORDS})(?P<rest>[\w.-]{{0,64}}+)[\"']?:[ \t]{{1,8}}[|>][+-]?\d?[ \t]{{0,8}}\n",
    re.IGNORECASE,
)
_NAME_END: Final = re.compile(r"[\w.-]{0,64}\Z")
_QUOTE: Final = re.compile(r"\\.|\"", re.DOTALL)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_ESCAPED: Final = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})
"""Logs contain line breaks within strings, unlike JSON."""
_GZIP: Final = b"\x1f\x8b"
_DER: Final = b"\x30"


class Redactor:
    """Replaces the secrets in documents, logs and texts. The values of known Secrets are removed
    from all later input.
    """

    def __init__(self) -> None:
        self._known: dict[str, None] = {}

    # Learning

    def learn(self, secret: Document) -> None:
        """Learn the values of a Secret, which may occur anywhere."""
        for key, value in (secret.get("data") or {}).items():
            if key not in _NOT_SECRET and isinstance(value, str):
                self._learn(value)
                self._learn_content(_unpack(value))
        for key, value in (secret.get("stringData") or {}).items():
            if key not in _NOT_SECRET and isinstance(value, str):
                self._learn_content(value)

    def _learn_content(self, text: str) -> None:
        stripped = text.strip()
        if "\n" not in stripped:
            self._learn(stripped)
        for match in _PEM.finditer(text):
            for line in match.group().splitlines():
                if "-----" not in line:
                    self._learn(line.strip())
        for field in _FIELD.finditer(text):
            if _is_secret(_name_of(field)):
                self._learn(field["value"].strip("\\\"'"))

    def _learn(self, value: str) -> None:
        if (
            not MIN_SECRET_LENGTH <= len(value) <= MAX_SECRET_LENGTH
            or len(self._known) >= MAX_LEARNED
        ):
            return
        if value.isalpha() and value.islower():
            return  # a word, as `cluster-admin` or `true`
        forms = (value, json.dumps(value)[1:-1], quote(value, safe=""), quote(value))
        encoded = base64.b64encode(value.encode()).decode()
        for form in (*forms, encoded, base64.b64encode(f"{value}\n".encode()).decode()):
            self._known.setdefault(form)

    # Documents

    def document(self, document: Document) -> Document:
        """Return a copy without secrets. A Secret keeps its key names and the sizes of its
        values.
        """
        result: Document = self._node(document, MAX_DEPTH, secret=False)
        return result

    def _node(self, node: Any, depth: int, *, secret: bool) -> Any:
        """Redact a node in place. secret: the name of an enclosing field marks a secret."""
        if isinstance(node, dict):
            return self._mapping(node, depth, secret=secret)
        if isinstance(node, list):
            return [self._node(item, depth, secret=secret) for item in node]
        if isinstance(node, str):
            return _replacement(node) if secret and node else self._text(node, depth)
        return (
            REDACTED
            if secret and isinstance(node, int | float) and not isinstance(node, bool)
            else node
        )

    def _mapping(self, node: dict[str, Any], depth: int, *, secret: bool) -> dict[str, Any]:
        if node.get("kind") == "Secret":
            node = _empty_secret(node)
        elif node.get("kind") == "SecretList" and isinstance(node.get("items"), list):
            items = [
                _empty_secret(item) if isinstance(item, dict) else item for item in node["items"]
            ]
            node = {**node, "items": items}
        named = any(_is_secret(str(node.get(key, ""))) for key in ("name", "key", "path"))
        is_file = "path" in node and ("content" in node or "contents" in node)
        result: dict[str, Any] = {}
        for key, value in node.items():
            hidden = (
                (secret and not _PLACES.search(key))
                or (_is_secret(key) and not _PLACES.search(key))
                or (named and key in ("value", "default", "example"))
                or (is_file and key in ("content", "contents", "source"))
                or key in ("passwd", "inline")
            )
            result[self._text(key, depth)] = self._node(
                value, depth, secret=hidden and not _is_place(value)
            )
        return result

    # Texts

    def text(self, text: str) -> str:
        """Return the text without secrets."""
        return self._text(text, MAX_DEPTH)

    def _text(self, text: str, depth: int) -> str:
        if len(text) < MIN_SECRET_LENGTH or not depth:
            return text
        for value in self._known:
            if value in text:
                text = text.replace(value, REDACTED)
        nested = self._redact_nested(text, depth)
        if nested is not None:
            return nested
        text = _PEM.sub(r"-----BEGIN \1----- " + REDACTED, text)
        text = self._redact_quoted(_without_ends(text), depth)
        text = _SCHEMES.sub(rf"\1{REDACTED}", text)
        text = _JWT.sub(REDACTED, text)
        text = _BOOTSTRAP.sub(REDACTED, text)
        text = _CRYPT.sub(REDACTED, text)
        text = _USER.sub(rf"\1{REDACTED}@", text)
        text = _CURL.sub(rf"\1\2\3:{REDACTED}", text)
        text = _without_blocks(text)
        text = _FIELD.sub(_field, text)
        return _BASE64.sub(lambda match: self._redact_encoded(match.group(), depth), text)

    def _redact_nested(self, text: str, depth: int) -> str | None:
        """Redact a text that is a JSON document; None if it is not one."""
        if text[0] not in "{[" or text.rstrip()[-1] not in "}]":
            return None
        try:
            result = decode_json(text.encode())
        except (BadJson, ValueError):
            return None
        result = self._node(result, depth - 1, secret=False)
        return json.dumps(result) + ("\n" if text.endswith("\n") else "")

    def _redact_quoted(self, text: str, depth: int) -> str:
        """Redact the JSON strings with escapes in a text."""
        if "\\" not in text:
            return text
        parts: list[str] = []
        begin, copied = -1, 0
        for mark in _QUOTE.finditer(text):
            if mark.group() != '"':
                continue
            if begin < 0:
                begin = mark.start()
                continue
            literal = text[begin : mark.end()]
            clean = self._literal(literal, depth)
            if clean != literal:
                parts += (text[copied:begin], clean)
                copied = mark.end()
            begin = -1
        return "".join((*parts, text[copied:]))

    def _literal(self, literal: str, depth: int) -> str:
        if "\\" not in literal:
            return literal
        try:
            plain = decode_json(literal.translate(_ESCAPED).encode())
        except (BadJson, ValueError):
            return literal
        clean = self._text(plain, depth - 1)
        return literal if clean == plain else json.dumps(clean)

    def _redact_encoded(self, text: str, depth: int) -> str:
        """Replace a text that may be base64 if its decoded content has secrets."""
        content = _bytes_of(text)
        if content is None:
            return text
        if _is_private_key(content):
            return _replacement(text)
        plain = _readable(content)
        if plain is None or self._text(plain, depth - 1) == plain:
            return text
        return _replacement(text)


def _empty_secret(secret: Document) -> Document:
    """Return a Secret without its values."""
    empty = {
        part: {key: _replacement(str(value)) for key, value in values.items()}
        for part in ("data", "stringData")
        if isinstance(values := secret.get(part), dict)
    }
    metadata = secret.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(annotations, dict):
        return {**secret, **empty}
    result = {
        key: REDACTED if "last-applied" in key else value for key, value in annotations.items()
    }
    return {**secret, "metadata": {**metadata, "annotations": result}, **empty}


def _replacement(text: str) -> str:
    return f"{REDACTED} ({len(text)} characters)"


def _is_secret(name: str) -> bool:
    return bool(_NAMES.search(name)) and not _PLACES.search(name)


def _is_place(value: Any) -> bool:
    """Return whether a value only refers to a secret: a reference to an object, or to a key
    of one.
    """
    return (
        isinstance(value, dict)
        and bool(value)
        and set(value)
        <= {
            "name",
            "namespace",
            "key",
            "kind",
            "apiVersion",
            "apiGroup",
            "optional",
            "secretKeyRef",
            "configMapKeyRef",
            "secret",
        }
        and all(isinstance(item, str | bool) or _is_place(item) for item in value.values())
    )


def _without_ends(text: str) -> str:
    """Return the text without the ends of private keys whose beginnings are missing."""
    parts: list[str] = []
    copied = 0
    for end in _PEM_END.finditer(text):
        before = text[max(copied, end.start() - _LONGEST_KEY) : end.start()]
        body = _key_body(before)
        if body:
            parts += (text[copied : end.start() - body], REDACTED, " ")
            copied = end.start()
    return "".join((*parts, text[copied:]))


def _key_body(text: str) -> int:
    """Return the number of trailing characters of a text that may be the body of a key."""
    begin = len(text)
    while begin and (text[begin - 1] in _KEY_CHARACTERS):
        begin -= 1
    return len(text) - begin


_KEY_CHARACTERS: Final = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/= \n\r\t\\"
)


def _field(match: re.Match[str]) -> str:
    name, value = _name_of(match), match["value"]
    bare = value.strip("\\\"'")
    is_told = any(mark in match["between"] for mark in ":=") or name.startswith("-")
    # Two words of a sentence are no assignment; `--token x` is a flag.
    is_plain = bare.lower() in _PLAIN or (has_only_digits(bare) and len(bare) < MIN_SECRET_LENGTH)
    if not is_told or is_plain or not _is_secret(name) or bare.startswith(_ELSEWHERE):
        return match.group()
    head = match.group()[: match.start("value") - match.start()]
    return f"{head}{value.replace(bare, REDACTED)}"


def _name_of(match: re.Match[str]) -> str:
    """Return the full name of a field, given a matched word in it."""
    begin = match.start()
    before = _NAME_END.search(match.string[max(0, begin - 64) : begin])
    head = "" if before is None else before.group()
    return head + match.string[begin : match.end("rest")]


_PLAIN: Final = frozenset(
    ("", "true", "false", "null", "none", "nil", "{", "[", "[]", "{}", "|", ">", "|-", ">-", "|+")
)
_ELSEWHERE: Final = ("/", REDACTED, "$", "<", "{", "[")
"""Prefixes of paths, variables and placeholders."""


def _without_blocks(text: str) -> str:
    """Return the text without the lines of YAML block scalars whose names mark them as secrets."""
    parts: list[str] = []
    copied = 0
    for head in _BLOCK.finditer(text):
        if head.start() < copied or not _is_secret(_name_of(head)):
            continue
        line = text[text.rfind("\n", 0, head.start()) + 1 : head.end()]
        end = _end_of_block(text, head.end(), _indentation(line))
        if end > head.end():
            inner = _indentation(line) * " " + "  "
            parts += (text[copied : head.end()], inner, REDACTED, "\n")
            copied = end
    return "".join((*parts, text[copied:]))


def _end_of_block(text: str, begin: int, least: int) -> int:
    """Return the end of the lines that are indented by more than `least`."""
    while begin < len(text):
        end = text.find("\n", begin) + 1 or len(text)
        line = text[begin:end]
        if line.strip() and _indentation(line) <= least:
            break
        begin = end
    return begin


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _bytes_of(text: str) -> bytes | None:
    standard = text.rstrip("=").replace("-", "+").replace("_", "/")
    if len(standard) % 4 == 1:
        standard = standard[:-1]
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (ValueError, binascii.Error):
        return None


def _readable(content: bytes) -> str | None:
    """Return the text in some bytes, compressed or not; None if they are not text."""
    if content.startswith(_GZIP):
        try:
            content = zlib.decompressobj(wbits=31).decompress(content, MAX_UNPACKED)
        except zlib.error:
            return None
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return text if text.isprintable() or any(mark in text for mark in ("\n", "\t", "\r")) else None


def _is_private_key(content: bytes) -> bool:
    """Return whether the bytes are a private key without PEM armour."""
    if not content.startswith(_DER) or len(content) < 32:
        return False
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_der_private_key

    try:
        load_der_private_key(content, None)
    except (ValueError, UnsupportedAlgorithm):
        return False
    except TypeError:  # it is encrypted
        return True
    return True


def _unpack(value: str) -> str:
    content = _bytes_of(value) or b""
    return _readable(content) or ""
