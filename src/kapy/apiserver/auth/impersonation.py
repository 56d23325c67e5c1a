"""Impersonation headers: `Impersonate-User`, `-Group`, `-Uid` and `-Extra-*`.

`kapy.apiserver.auth.impersonation_modes` checks the rights of the requester.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote_to_bytes

from kapy.kube.errors import BadRequest
from kapy.kube.go_literals import go_quoted

_PREFIX: Final = b"impersonate-"
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")


@dataclass(slots=True)
class ImpersonationRequest:
    """The user that a request wants to impersonate."""

    name: str = ""
    uid: str = ""
    groups: list[str] = field(default_factory=list)
    extra: dict[str, list[str]] = field(default_factory=dict)

    @property
    def only_name(self) -> bool:
        """Report whether only a user name is requested."""
        return not (self.uid or self.groups or self.extra)

    def __str__(self) -> str:
        """Return the user in the format of a Go struct, as in kube-apiserver's messages."""
        extra = ", ".join(
            f"{go_quoted(k)}:{_format_go_list(v)}" for k, v in sorted(self.extra.items())
        )
        result = f"map[string][]string{{{extra}}}" if extra else "map[string][]string(nil)"
        return (
            f"&user.DefaultInfo{{Name:{go_quoted(self.name)}, UID:{go_quoted(self.uid)}, "
            f"Groups:{_format_go_list(self.groups)}, Extra:{result}}}"
        )


def _format_go_list(words: list[str]) -> str:
    if not words:
        return "[]string(nil)"
    return "[]string{" + ", ".join(go_quoted(word) for word in words) + "}"


def parse_impersonation(headers: Iterable[tuple[bytes, bytes]]) -> ImpersonationRequest | None:
    """Parse the impersonation headers (names in lower case), None if there are none.

    Raises BadRequest if they have no user.
    """
    request = [(raw, value) for raw, value in headers if raw.startswith(_PREFIX)]
    if not request:  # as in nearly every request
        return None
    identity = ImpersonationRequest()
    single: dict[str, str] = {}
    for raw, value in request:
        name, text = _text(raw[len(_PREFIX) :]), _text(value)
        if name in ("user", "uid"):
            single.setdefault(name, text)
        elif name == "group":
            identity.groups.append(text)
        elif name.startswith("extra-"):
            identity.extra.setdefault(_key(name.removeprefix("extra-")), []).append(text)
    identity.name, identity.uid = single.get("user", ""), single.get("uid", "")
    if identity.name:
        return identity
    if not identity.only_name:
        raise BadRequest(f"requested {identity} without impersonating a user name")
    return None


def _text(raw: bytes) -> str:
    """Decode UTF-8; invalid bytes become escapes, so that no two values collide."""
    return raw.decode("utf-8", "backslashreplace")


def _key(name: str) -> str:
    """Decode the percent-encoded key of an extra; return it unchanged if it is invalid."""
    return name if _BAD_ESCAPE.search(name) else _text(unquote_to_bytes(name))
