"""Reads typed fields of boot data, and decodes file contents in it, with a size limit."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import zlib
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_to_bytes

from kapy.kube import Document
from kapy.kube.boot.steps import BadBootData

MAX_DATA: Final = 4 << 20
"""The most bytes of boot data that are read."""
MAX_CONTENTS: Final = 16 << 20
"""The most bytes that all files of one machine's boot data may have together."""
MAX_STEPS: Final = 10_000
_GZIP: Final = 16 + zlib.MAX_WBITS
_MEBIBYTE: Final = 1 << 20
_WHITE_SPACE: Final = re.compile(r"\s+")
_GZIP_NAMES: Final = ("gz", "gzip")
_BASE64_NAMES: Final = ("b64", "base64")
_BOTH_NAMES: Final = ("gz+base64", "gzip+base64", "gz+b64", "gzip+b64")
_DATA: Final = "data:"


def text_field(parent: Document, field: str, entry: str) -> str:
    """Return a string field, "" if it is absent. Raises BadBootData. entry: the location of the
    parent in the boot data, for errors.
    """
    value = parent.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadBootData(f"{entry}: {field} must be a string")
    return value


def flag_field(parent: Document, field: str, entry: str) -> bool:
    """Return a boolean field, False if it is absent. Raises BadBootData."""
    value = parent.get(field)
    if value is not None and not isinstance(value, bool):
        raise BadBootData(f"{entry}: {field} must be true or false")
    return bool(value)


def text_of(data: bytes, format_name: str) -> str:
    """Decode boot data as text. format_name: the name of the format, for errors. Raises
    BadBootData.
    """
    if len(data) > MAX_DATA:
        limit = MAX_DATA // _MEBIBYTE
        raise BadBootData(
            f"{format_name}: the boot data has {len(data)} bytes, more than {limit} MiB"
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if data.startswith(b"\x1f\x8b"):
            raise BadBootData(
                f"{format_name}: the boot data is compressed; give it as text"
            ) from error
        path = f"byte {error.start}"
        raise BadBootData(f"{format_name}: the boot data is not UTF-8 text at {path}") from error


@dataclass(slots=True)
class ContentDecoder:
    """Decodes file contents and counts their bytes. Methods raise BadBootData."""

    remaining: int = MAX_CONTENTS

    def decode(self, content: str | bytes, encoding: str, entry: str) -> bytes:
        """Decode a `write_files` content with its cloud-init encoding; "" means none.

        content: bytes if the YAML value has the tag `!!binary`.
        """
        name = encoding.strip().lower()
        if name in _BOTH_NAMES or name in _GZIP_NAMES:
            self._count(len(content), entry)
            # Compressed data in a text must be base64: YAML cannot contain it otherwise.
            if isinstance(content, str) or name in _BOTH_NAMES:
                content = _from_base64(content, entry)
            return self._count_content(self._decompress(content, entry), entry)
        if name in _BASE64_NAMES:
            self._count(len(content), entry)
            return _from_base64(content, entry)
        if name in ("", "text/plain"):
            data = content if isinstance(content, bytes) else content.encode()
            return self._count_content(data, entry)
        raise BadBootData(
            f'{entry}: encoding "{encoding:.80}" is not known; use base64, gzip or gzip+base64'
        )

    def of_source(self, source: str, compression: str, entry: str) -> bytes:
        """Decode an Ignition source, which must be a data URL; "" means no content."""
        source = source.strip()
        if not source:
            return b""
        if not source.startswith(_DATA):
            part = source.split("?", 1)[0][:100]
            raise BadBootData(
                f'{entry}: the source "{part}" would have to be fetched; only data URLs are read'
            )
        media, comma, payload = source.removeprefix(_DATA).partition(",")
        if not comma:
            raise BadBootData(f"{entry}: the data URL has no comma before its data")
        data = unquote_to_bytes(payload)
        if media.rpartition(";")[2] == "base64":
            data = _from_base64(data.decode("latin-1"), entry)
        if compression == "gzip":
            data = self._decompress(data, entry)
        elif compression:
            raise BadBootData(f'{entry}: compression "{compression:.80}" is not known; use gzip')
        return self._count_content(data, entry)

    def _decompress(self, data: bytes, entry: str) -> bytes:
        unpacked = bytearray()
        while data:
            unpacker = zlib.decompressobj(_GZIP)
            try:
                unpacked += unpacker.decompress(data, self.remaining + 1 - len(unpacked))
            except zlib.error as error:
                raise BadBootData(f"{entry}: the content is not gzip data ({error})") from error
            if len(unpacked) > self.remaining:
                raise _too_large(entry)
            if not unpacker.eof:
                raise BadBootData(f"{entry}: the gzip data of the content ends too early")
            data = unpacker.unused_data.lstrip(b"\0")
        return bytes(unpacked)

    def _count_content(self, content: bytes, entry: str) -> bytes:
        self._count(len(content), entry)
        return content

    def _count(self, size: int, entry: str) -> None:
        self.remaining -= size
        if self.remaining < 0:
            raise _too_large(entry)


def _too_large(entry: str) -> BadBootData:
    limit = MAX_CONTENTS // _MEBIBYTE
    return BadBootData(f"{entry}: the contents of all files are larger than {limit} MiB together")


def _from_base64(content: str | bytes, entry: str) -> bytes:
    text = content if isinstance(content, str) else content.decode("latin-1")
    try:
        return base64.b64decode(_WHITE_SPACE.sub("", text), validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadBootData(f"{entry}: the content is not base64 ({error})") from error


def check_hash(content: bytes, expected: str, entry: str) -> None:
    """Compare content with Ignition's `verification.hash`. Raises BadBootData."""
    algorithm, _, digest = expected.partition("-")
    if algorithm not in ("sha256", "sha512"):
        raise BadBootData(f'{entry}: the hash "{expected[:20]}" is neither sha512-… nor sha256-…')
    if hashlib.new(algorithm, content).hexdigest() != digest.lower():
        raise BadBootData(f"{entry}: the content does not have the hash {expected:.140}")
