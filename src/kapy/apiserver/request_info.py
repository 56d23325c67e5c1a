"""What a path asks for, whether anything is served there or not."""

from __future__ import annotations

from kapy.apiserver.authorization import Attributes
from kapy.apiserver.parameters import flag
from kapy.kube.http import Request, User

_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch"}


def attributes_of(request: Request, user: User) -> Attributes:
    """The attributes of any request, as kube-apiserver takes a path apart."""
    parts = [part for part in request.path.split("/") if part]
    match parts:
        case ["api", version, *rest] if rest:
            group = ""
        case ["apis", group, version, *rest] if rest:
            pass
        case _:
            return Attributes(user, request.method.lower(), path=request.path)
    watch = rest[0] == "watch" and len(rest) > 1
    if watch:
        rest = rest[1:]
    space = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        space = rest[1]
        if len(rest) > 2 and rest[2] not in ("status", "finalize"):
            rest = rest[2:]
    name = rest[1] if len(rest) > 1 else ""
    return Attributes(
        user,
        _verb(request, name, watch=watch),
        group,
        version,
        rest[0],
        rest[2] if len(rest) > 2 else "",
        space,
        name,
    )


def _verb(request: Request, name: str, *, watch: bool) -> str:
    if request.method == "DELETE":
        return "delete" if name else "deletecollection"
    verb = _VERBS.get(request.method, "")
    if verb != "get" or name:
        return "watch" if watch and verb == "get" else verb
    return "watch" if watch or flag(request.query, "watch") else "list"
