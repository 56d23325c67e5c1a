"""Tracking of writes and server-side apply, over all versions of one kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kapy.kube import Document
from kapy.kube.apply.types import Types


@dataclass(frozen=True, slots=True)
class Write:
    """One write as ownership sees it.

    manager: `fieldManager`, or what the User-Agent says before its first slash. api_version: the
    version of the request (the documents given are in this version). time: RFC 3339 in seconds.
    subresource: "" for the object itself. reset: top-level fields that this endpoint ignores, as
    FieldsV1 ({"f:status": {}} for the object of a kind with a status subresource, {"f:metadata":
    {}, "f:spec": {}} for its status).
    """

    manager: str
    api_version: str
    time: str
    subresource: str = ""
    reset: Document | None = None


class Tracker:
    """Ownership of the fields of one kind."""

    def __init__(
        self,
        types: Mapping[str, Types],
        convert: Callable[[Document, str], Document] | None = None,
    ) -> None:
        """types: by apiVersion, every version that is served. convert: an object to another
        apiVersion; without it only the `apiVersion` field is changed."""

    def track(self, live: Document | None, new: Document, write: Write) -> Document:
        """`new` with `managedFields` brought up to date (create: `live` is None).

        What `new` itself says in `managedFields` counts as kube-apiserver has it: absent (or not
        decodable) keeps those of `live`, one empty entry or an empty list resets them, anything
        else replaces them; a subresource's request cannot say anything. Never raises: whether the
        entries are valid is checked elsewhere.
        """
        raise NotImplementedError

    def apply(
        self, live: Document | None, applied: Document, write: Write, *, force: bool
    ) -> Document:
        """`live` (None: nothing is there) with `applied` merged in: what the manager applied
        earlier and does not apply now is removed unless others own it.

        Raises Conflict with kube-apiserver's message and causes when others own a field with
        another value and not force; BadRequest when `applied` carries managedFields; Invalid
        when it does not fit the types.
        """
        raise NotImplementedError
