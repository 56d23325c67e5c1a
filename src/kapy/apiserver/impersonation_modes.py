"""Who may act as whom: five modes, of which the first that a requester has the rights for counts.

Four are narrow: `impersonate:MODE` on whom one wants to be, together with
`impersonate-on:MODE:VERB` on what is asked for. `associated-node` is for service accounts that
become the Node of their pod, `arbitrary-node` and `serviceaccount` for those users, `user-info`
for all others. The last one is `impersonate` on users, groups, service accounts, uids and extras,
for whatever is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from kapy.apiserver.authentication import AUTHENTICATED
from kapy.apiserver.authorization import SUPERUSERS, Attributes, Authorizer
from kapy.apiserver.impersonation import Wish
from kapy.kube.errors import Forbidden
from kapy.kube.field_errors import invalid
from kapy.kube.go_quoted import go_quoted
from kapy.kube.http import ANONYMOUS, User
from kapy.kube.qualified_names import dns_label_errors, dns_subdomain_errors

_ACCOUNT: Final = "system:serviceaccount:"
_NODE: Final = "system:node:"
_NODES: Final = "system:nodes"
_NODE_OF_POD: Final = "authentication.kubernetes.io/node-name"
_GROUP: Final = "authentication.k8s.io"
_UNAUTHENTICATED: Final = ANONYMOUS.groups[0]
_MANY: Final = 4
"""Groups or extras from which on the right to all of them is looked for first."""
_REMEMBERED: Final = 10_000
_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_PATH_SHOWN: Final = f"Invalid path (regex used for validation is '{_PATH}')"


def account_of(name: str) -> tuple[str, str] | None:
    """Namespace and name of the service account that a user is."""
    if not name.startswith(_ACCOUNT):
        return None
    space, colon, account = name.removeprefix(_ACCOUNT).partition(":")
    if not colon or dns_label_errors(space) or dns_subdomain_errors(account):
        return None
    return space, account


def node_of(name: str) -> str:
    """The name of the Node that a user is, "" when it is none."""
    node = name.removeprefix(_NODE) if name.startswith(_NODE) else ""
    return "" if dns_subdomain_errors(node) else node


@dataclass(frozen=True, slots=True)
class Mode:
    """One way to act as somebody. name: "" for the one that has no limits."""

    name: str
    applies: Callable[[Wish, User], bool]

    @property
    def verb(self) -> str:
        return f"impersonate:{self.name}" if self.name else "impersonate"

    @property
    def group(self) -> str:
        """The API group of users, groups, service accounts and nodes."""
        return _GROUP if self.name else ""


def _is_own_node(wish: Wish, user: User) -> bool:
    node = node_of(wish.name)
    told = user.extra.get(_NODE_OF_POD, ())
    return wish.only_name and bool(node) and bool(account_of(user.name)) and told == (node,)


_MODES: Final = (
    Mode("associated-node", _is_own_node),
    Mode("arbitrary-node", lambda wish, _: wish.only_name and bool(node_of(wish.name))),
    Mode("serviceaccount", lambda wish, _: wish.only_name and account_of(wish.name) is not None),
    Mode("user-info", lambda wish, _: not node_of(wish.name) and account_of(wish.name) is None),
    Mode("", lambda _wish, _user: True),
)


class Impersonation:
    """Decides as whom a request is done; for each requester, the mode that worked comes first."""

    __slots__ = ("_worked",)

    def __init__(self) -> None:
        self._worked: dict[str, int] = {}

    def __call__(self, wish: Wish, asked: Attributes, authorize: Authorizer) -> User:
        """The user whom the request is then from. Raises Forbidden.

        asked: what the request itself is about, with the user who really asks.
        """
        first: Forbidden | None = None
        for at in self._order(asked.user.name):
            mode = _MODES[at]
            if not mode.applies(wish, asked.user):
                continue
            try:
                _check(mode, wish, asked, authorize)
            except Forbidden as error:
                first = first or error
                continue
            if len(self._worked) >= _REMEMBERED:
                self._worked.clear()
            self._worked[asked.user.name] = at
            return _user(mode, wish)
        assert first is not None  # the last mode is for everybody
        raise first

    def _order(self, name: str) -> list[int]:
        every = list(range(len(_MODES)))
        worked = self._worked.get(name)
        return every if worked is None else [worked, *(one for one in every if one != worked)]


def _check(mode: Mode, wish: Wish, asked: Attributes, authorize: Authorizer) -> None:
    """Whether a requester may act so. Raises Forbidden."""
    if mode.name:
        authorize(asked._replace(verb=f"impersonate-on:{mode.name}:{asked.verb}"))
    authorize(_user_right(mode, wish, asked.user))
    if wish.uid:
        authorize(_right(mode, asked.user, "uids", wish.uid, group=_GROUP))
    groups = _group_rights(mode, wish, asked.user)
    if not (mode.name and len(groups) >= _MANY and _may(authorize, groups[0]._replace(name="*"))):
        for one in groups:
            authorize(one)
    extras = _extra_rights(mode, wish, asked.user)
    many = len(wish.extra) >= _MANY or len(extras) >= _MANY
    if mode.name and many and _may(authorize, extras[0]._replace(subresource="*", name="*")):
        return
    for one in extras:
        authorize(one)


def _may(authorize: Authorizer, asked: Attributes) -> bool:
    try:
        authorize(asked)
    except Forbidden:
        return False
    return True


def _right(mode: Mode, user: User, resource: str, name: str, *, group: str = "") -> Attributes:
    return Attributes(user, mode.verb, group or mode.group, "v1", resource, name=name)


def _user_right(mode: Mode, wish: Wish, user: User) -> Attributes:
    account, node = account_of(wish.name), node_of(wish.name)
    if account is not None:
        wanted = _right(mode, user, "serviceaccounts", account[1])
        return wanted._replace(namespace=account[0])
    if mode.name and node:
        # Who may become the node of his pod needs the right for whichever node that is.
        return _right(mode, user, "nodes", "*" if mode.name == "associated-node" else node)
    return _right(mode, user, "users", wish.name)


def _group_rights(mode: Mode, wish: Wish, user: User) -> list[Attributes]:
    """One right for each group. Raises Forbidden for what a narrow mode never allows."""
    if mode.name and "" in wish.groups:
        refused = _right(mode, user, "groups", "")
        raise refused.refusal("impersonating the empty string group is not allowed")
    if mode.name and SUPERUSERS in wish.groups:
        refused = _right(mode, user, "groups", SUPERUSERS)
        raise refused.refusal("impersonating the system:masters group is not allowed")
    return [_right(mode, user, "groups", one) for one in wish.groups]


def _extra_rights(mode: Mode, wish: Wish, user: User) -> list[Attributes]:
    """One right for each value. Raises Forbidden for what a narrow mode never allows."""
    wanted = _right(mode, user, "userextras", "", group=_GROUP)
    if mode.name:
        for wrong in _extra_problems(wish):
            raise wanted.refusal(wrong)
    return [
        wanted._replace(subresource=key, name=value)
        for key, values in sorted(wish.extra.items())
        for value in values
    ]


def _extra_problems(wish: Wish) -> Iterator[str]:
    for key, values in sorted(wish.extra.items()):
        if not key:
            yield "impersonating the empty string key in extra is not allowed"
        if wrong := _key_problem(key):
            yield f"impersonating an invalid key in extra is not allowed: {wrong}"
        if key != key.lower():
            yield f"impersonating a non-lowercase key in extra is not allowed: {go_quoted(key)}"
        if "" in values:
            yield "impersonating the empty string value in extra is not allowed"


def _key_problem(key: str) -> str:
    """What is wrong with the key of an extra: it is `DOMAIN/PATH`."""
    domain, _, path = key.partition("/")
    if not domain or not path:
        text = 'must be a domain-prefixed path (such as "acme.io/foo")'
        return str(invalid("extra.key", key, text))
    if wrong := dns_subdomain_errors(domain):
        return str(invalid("extra.key", domain, wrong[0]))
    if not re.fullmatch(_PATH, path):
        return str(invalid("extra.key", path, _PATH_SHOWN))
    return ""


def _user(mode: Mode, wish: Wish) -> User:
    groups = list(wish.groups)
    account = account_of(wish.name)
    if account is not None and not groups:
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{account[0]}"]
    if mode.name and node_of(wish.name):
        groups = [_NODES]
    if wish.name == ANONYMOUS.name:
        groups += [] if _UNAUTHENTICATED in groups else [_UNAUTHENTICATED]
    elif _UNAUTHENTICATED not in groups and AUTHENTICATED not in groups:
        groups.append(AUTHENTICATED)
    extra = {key: tuple(values) for key, values in wish.extra.items()}
    return User(wish.name, tuple(groups), wish.uid, extra)
