"""Parse the objects in the values of a ConfigMap or a Secret."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kapy.engine.correlation import Lru
from kapy.kube import Document, Key
from kapy.kube.creation_order import creation_rank
from kapy.kube.errors import KapyError
from kapy.kube.yaml import YamlError, load_all
from kapy.remote.secrets import BadSecret, secret_value

Values = Mapping[str, bytes]

CACHE_SIZE: Final = 32


class BadManifest(KapyError):
    """A value does not consist of objects; the message names it, and never quotes it."""


def values_of(source: Document) -> Values:
    """Return the values of a ConfigMap or Secret, sorted by key. Raises BadManifest."""
    name, data = f"{source['kind']} {Key.of(source)}", source.get("data")
    if data is None:
        raise BadManifest(f"{name} has no data")
    if source["kind"] != "Secret":
        return {field: data[field].encode() for field in sorted(data)}
    try:
        return {field: secret_value(source, field) or b"" for field in sorted(data)}
    except BadSecret as error:
        raise BadManifest(str(error)) from None


def hash_of(values: Values) -> str:
    """Return `sha256:` and the digest of all values in order, to detect changes of a source."""
    digest = hashlib.sha256()
    for value in values.values():
        digest.update(value)
    return f"sha256:{digest.hexdigest()}"


def objects_of(values: Values, source: str, *, secret: bool) -> list[Document]:
    """Return all objects in the order of their creation. Raises BadManifest.

    A value is YAML with any number of documents, or a JSON list. source: its name in errors.
    secret: errors name only the place.
    """
    objects = list[Document]()
    for field, value in values.items():
        path = f"{source}: {field}"
        result = list(_objects(value, path, secret=secret))
        objects += sorted(result, key=lambda item: creation_rank(item["kind"]))
    return objects


def _objects(value: bytes, location: str, *, secret: bool) -> Iterator[Document]:
    try:
        documents = load_all(value, location)
    except YamlError as error:
        raise BadManifest(
            f"{location} is neither YAML nor JSON" if secret else str(error)
        ) from None
    if len(documents) == 1 and isinstance(documents[0], list) and value.lstrip().startswith(b"["):
        documents = documents[0]
    for number, document in enumerate(documents, 1):
        if problem := _problem(document):
            raise BadManifest(f"{location}: document {number} {problem}")
        yield document


def _problem(document: Any) -> str:
    if not isinstance(document, dict):
        return "is no object"
    for name in ("apiVersion", "kind"):
        if not isinstance(document.get(name), str):
            return f"has no {name}"
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return "has no metadata.name"
    return ""


class Manifests:
    """Parses each state of a source only once, since many clusters get the same objects."""

    def __init__(self) -> None:
        self._parsed: Lru[Sequence[Document]] = Lru(CACHE_SIZE)

    async def of(self, source: Document, values: Values, hash_: str) -> Sequence[Document]:
        """Return the objects of a source; shared: read only. Raises BadManifest."""
        run = self._parsed.get(hash_)
        if run is None:
            name, secret = f"{source['kind']} {Key.of(source)}", source["kind"] == "Secret"
            # Parsing megabytes of YAML takes long, so it runs in a thread.
            loop = asyncio.get_running_loop()
            run = await loop.run_in_executor(None, lambda: objects_of(values, name, secret=secret))
            self._parsed.put(hash_, run)
        return run
