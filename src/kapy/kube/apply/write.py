"""A write whose field owners are tracked."""

from __future__ import annotations

from msgspec import Struct

from kapy.kube import Document
from kapy.kube.apply.managers import Identity


class Write(Struct):
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

    def identity(self, *, applies: bool) -> Identity:
        version = "" if applies else self.api_version
        return Identity(self.manager, applies, self.subresource, version)
