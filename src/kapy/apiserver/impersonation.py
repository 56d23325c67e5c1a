"""Acting as somebody else: the headers `Impersonate-User`, `-Group`, `-Uid` and `-Extra-*`.

Allowed by the verb `impersonate` on users, groups, service accounts, uids and extras, or (narrower)
by `impersonate:user-info` on them together with `impersonate-on:user-info:VERB` on what is asked
for; for service accounts alone the mode is called `serviceaccount`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from kapy.apiserver.authentication import AUTHENTICATED
from kapy.apiserver.authorization import Attributes, Authorizer
from kapy.kube.errors import BadRequest, Forbidden
from kapy.kube.http import ANONYMOUS, User

_PREFIX = b"impersonate-"
_ACCOUNT = "system:serviceaccount:"
_GROUP = "authentication.k8s.io"


@dataclass(slots=True)
class Wish:
    """Whom a request wants to be."""

    name: str = ""
    uid: str = ""
    groups: list[str] = field(default_factory=list)
    extra: dict[str, list[str]] = field(default_factory=dict)

    def __str__(self) -> str:
        """As Go prints it."""
        extra = ", ".join(f"{json.dumps(k)}:{_go(v)}" for k, v in sorted(self.extra.items()))
        shown = f"map[string][]string{{{extra}}}" if extra else "map[string][]string(nil)"
        return (
            f"&user.DefaultInfo{{Name:{json.dumps(self.name)}, UID:{json.dumps(self.uid)}, "
            f"Groups:{_go(self.groups)}, Extra:{shown}}}"
        )


def _go(words: list[str]) -> str:
    if not words:
        return "[]string(nil)"
    return "[]string{" + ", ".join(json.dumps(word) for word in words) + "}"


def wish_of(headers: Iterable[tuple[bytes, bytes]]) -> Wish | None:
    """What the headers of a request (names in lower case) ask for, None when nothing.

    Raises BadRequest when they name no user.
    """
    wish: Wish | None = None
    for raw, value in headers:
        if not raw.startswith(_PREFIX):
            continue
        wish = wish or Wish()
        name, text = raw[len(_PREFIX) :].decode("latin-1"), value.decode("latin-1")
        if name == "user":
            wish.name = wish.name or text
        elif name == "uid":
            wish.uid = wish.uid or text
        elif name == "group":
            wish.groups.append(text)
        elif name.startswith("extra-"):
            key = unquote(name.removeprefix("extra-")).lower()
            wish.extra.setdefault(key, []).append(text)
    if wish is not None and not wish.name:
        raise BadRequest(f"requested {wish} without impersonating a user name")
    return wish


def impersonated(wish: Wish, asked: Attributes, authorize: Authorizer) -> User:
    """The user whom the request is then from. Raises Forbidden.

    asked: what the request itself is about, with the user who really asks.
    """
    for wanted in _rights(wish, asked.user, "impersonate"):
        try:
            authorize(wanted)
        except Forbidden:
            break
    else:
        return _user(wish)
    mode = _mode(wish)
    authorize(replace(asked, verb=f"impersonate-on:{mode}:{asked.verb}"))
    for wanted in _rights(wish, asked.user, f"impersonate:{mode}"):
        authorize(wanted)
    return _user(wish)


def _mode(wish: Wish) -> str:
    if wish.groups or wish.uid or wish.extra:
        return "user-info"
    if _account(wish.name):
        return "serviceaccount"
    return "arbitrary-node" if wish.name.startswith("system:node:") else "user-info"


def _account(name: str) -> tuple[str, str] | None:
    """Namespace and name of the service account that a user is."""
    parts = name.removeprefix(_ACCOUNT).split(":") if name.startswith(_ACCOUNT) else []
    return (parts[0], parts[1]) if len(parts) == 2 and all(parts) else None


def _rights(wish: Wish, user: User, verb: str) -> Iterator[Attributes]:
    """All that a user needs to become whom he wants."""
    account = _account(wish.name)
    if account:
        space, name = account
        yield Attributes(user, verb, "", "v1", "serviceaccounts", namespace=space, name=name)
    else:
        yield Attributes(user, verb, "", "v1", "users", name=wish.name)
    for group in wish.groups:
        yield Attributes(user, verb, "", "v1", "groups", name=group)
    if wish.uid:
        yield Attributes(user, verb, _GROUP, "v1", "uids", name=wish.uid)
    for key, values in wish.extra.items():
        for value in values:
            yield Attributes(user, verb, _GROUP, "v1", "userextras", key, name=value)


def _user(wish: Wish) -> User:
    groups = list(wish.groups)
    account = _account(wish.name)
    if account and not groups:
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{account[0]}"]
    either = (AUTHENTICATED, *ANONYMOUS.groups)
    if not any(group in either for group in groups):
        groups.append(ANONYMOUS.groups[0] if wish.name == ANONYMOUS.name else AUTHENTICATED)
    extra = {key: tuple(values) for key, values in wish.extra.items()}
    return User(wish.name, tuple(groups), wish.uid, extra)
