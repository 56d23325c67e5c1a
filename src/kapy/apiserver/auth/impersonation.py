"""Impersonation: the headers `Impersonate-User`, `-Group`, `-Uid`, `-Extra-*`, and the right to it.

Five modes are tried in order until one is allowed. Four are constrained: they need the verb
`impersonate:MODE` on the impersonated user and `impersonate-on:MODE:VERB` on the requested
resource. `associated-node` lets a service account act as the Node of its pod, `arbitrary-node` and
`serviceaccount` are for those users, and `user-info` for all others. The last mode is the legacy
verb `impersonate` on users, groups, service accounts, uids and extras, for any request.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote_to_bytes

from kapy.apiserver.auth.authentication import AUTHENTICATED
from kapy.apiserver.auth.authorization import SUPERUSERS, Attributes, Authorizer
from kapy.kube.errors import BadRequest, Forbidden
from kapy.kube.field_errors import invalid
from kapy.kube.go_literals import go_quoted
from kapy.kube.http import ANONYMOUS, User
from kapy.kube.qualified_names import dns_label_errors, dns_subdomain_errors

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


_ACCOUNT: Final = "system:serviceaccount:"
_NODE: Final = "system:node:"
_NODES: Final = "system:nodes"
_NODE_OF_POD: Final = "authentication.kubernetes.io/node-name"
_GROUP: Final = "authentication.k8s.io"
_UNAUTHENTICATED: Final = ANONYMOUS.groups[0]
_MANY: Final = 4
"""The number of groups or extras from which the right to all of them is checked first."""
_REMEMBERED: Final = 10_000
_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_PATH_SHOWN: Final = f"Invalid path (regex used for validation is '{_PATH}')"


def _parse_service_account_user(name: str) -> tuple[str, str] | None:
    """Return namespace and name of the service account with this user name."""
    if not name.startswith(_ACCOUNT):
        return None
    space, colon, account = name.removeprefix(_ACCOUNT).partition(":")
    if not colon or dns_label_errors(space) or dns_subdomain_errors(account):
        return None
    return space, account


def _parse_node_user(name: str) -> str:
    """Return the name of the Node with this user name, "" if it is not a Node's."""
    node = name.removeprefix(_NODE) if name.startswith(_NODE) else ""
    return "" if dns_subdomain_errors(node) else node


@dataclass(frozen=True, slots=True)
class Mode:
    """An impersonation mode. name: the part of the verb after `impersonate:`, "" for the legacy
    mode.
    """

    name: str
    applies: Callable[[ImpersonationRequest, User], bool]

    @property
    def verb(self) -> str:
        return f"impersonate:{self.name}" if self.name else "impersonate"

    @property
    def group(self) -> str:
        """Return the API group that the mode uses for users, groups, service accounts and nodes."""
        return _GROUP if self.name else ""


def _is_own_node(identity: ImpersonationRequest, user: User) -> bool:
    node = _parse_node_user(identity.name)
    entries = user.extra.get(_NODE_OF_POD, ())
    return (
        identity.only_name
        and bool(node)
        and bool(_parse_service_account_user(user.name))
        and entries == (node,)
    )


_MODES: Final = (
    Mode("associated-node", _is_own_node),
    Mode(
        "arbitrary-node",
        lambda identity, _: identity.only_name and bool(_parse_node_user(identity.name)),
    ),
    Mode(
        "serviceaccount",
        lambda identity, _: (
            identity.only_name and _parse_service_account_user(identity.name) is not None
        ),
    ),
    Mode(
        "user-info",
        lambda identity, _: (
            not _parse_node_user(identity.name)
            and _parse_service_account_user(identity.name) is None
        ),
    ),
    Mode("", lambda _wish, _user: True),
)


class ImpersonationAuthorizer:
    """Authorizes impersonation. For each requester, it first tries the mode that succeeded last."""

    __slots__ = ("_worked",)

    def __init__(self) -> None:
        self._worked: dict[str, int] = {}

    def __call__(
        self, identity: ImpersonationRequest, attributes: Attributes, authorize: Authorizer
    ) -> User:
        """Return the impersonated user. Raises Forbidden.

        attributes: the attributes of the request, with the requester as the user.
        """
        first: Forbidden | None = None
        for at in self._order(attributes.user.name):
            mode = _MODES[at]
            if not mode.applies(identity, attributes.user):
                continue
            try:
                _check(mode, identity, attributes, authorize)
            except Forbidden as error:
                first = first or error
                continue
            if len(self._worked) >= _REMEMBERED:
                self._worked.clear()
            self._worked[attributes.user.name] = at
            return _impersonated_user(mode, identity)
        assert first is not None  # the last mode applies to everybody
        raise first

    def _order(self, name: str) -> list[int]:
        value = list(range(len(_MODES)))
        worked = self._worked.get(name)
        return value if worked is None else [worked, *(item for item in value if item != worked)]


def _check(
    mode: Mode, identity: ImpersonationRequest, attributes: Attributes, authorize: Authorizer
) -> None:
    """Check that the requester may impersonate in this mode. Raises Forbidden."""
    if mode.name:
        authorize(attributes._replace(verb=f"impersonate-on:{mode.name}:{attributes.verb}"))
    authorize(_user_attributes(mode, identity, attributes.user))
    if identity.uid:
        authorize(_attributes(mode, attributes.user, "uids", identity.uid, group=_GROUP))
    groups = _group_attributes(mode, identity, attributes.user)
    if not (
        mode.name and len(groups) >= _MANY and _is_allowed(authorize, groups[0]._replace(name="*"))
    ):
        for group in groups:
            authorize(group)
    extras = _extra_attributes(mode, identity, attributes.user)
    many = len(identity.extra) >= _MANY or len(extras) >= _MANY
    if mode.name and many and _is_allowed(authorize, extras[0]._replace(subresource="*", name="*")):
        return
    for extra in extras:
        authorize(extra)


def _is_allowed(authorize: Authorizer, attributes: Attributes) -> bool:
    try:
        authorize(attributes)
    except Forbidden:
        return False
    return True


def _attributes(mode: Mode, user: User, resource: str, name: str, *, group: str = "") -> Attributes:
    return Attributes(user, mode.verb, group or mode.group, "v1", resource, name=name)


def _user_attributes(mode: Mode, identity: ImpersonationRequest, user: User) -> Attributes:
    account, node = _parse_service_account_user(identity.name), _parse_node_user(identity.name)
    if account is not None:
        wanted = _attributes(mode, user, "serviceaccounts", account[1])
        return wanted._replace(namespace=account[0])
    if mode.name and node:
        # The mode associated-node needs the right for all nodes.
        return _attributes(mode, user, "nodes", "*" if mode.name == "associated-node" else node)
    return _attributes(mode, user, "users", identity.name)


def _group_attributes(mode: Mode, identity: ImpersonationRequest, user: User) -> list[Attributes]:
    """Return the attributes to authorize for each impersonated group.

    Raises Forbidden for groups that a constrained mode never allows.
    """
    if mode.name and "" in identity.groups:
        refused = _attributes(mode, user, "groups", "")
        raise refused.forbidden_error("impersonating the empty string group is not allowed")
    if mode.name and SUPERUSERS in identity.groups:
        refused = _attributes(mode, user, "groups", SUPERUSERS)
        raise refused.forbidden_error("impersonating the system:masters group is not allowed")
    return [_attributes(mode, user, "groups", group) for group in identity.groups]


def _extra_attributes(mode: Mode, identity: ImpersonationRequest, user: User) -> list[Attributes]:
    """Return the attributes to authorize for each extra value.

    Raises Forbidden for extras that are never allowed.
    """
    wanted = _attributes(mode, user, "userextras", "", group=_GROUP)
    if mode.name:
        for wrong in _extra_problems(identity):
            raise wanted.forbidden_error(wrong)
    return [
        wanted._replace(subresource=key, name=value)
        for key, values in sorted(identity.extra.items())
        for value in values
    ]


def _extra_problems(identity: ImpersonationRequest) -> Iterator[str]:
    for key, values in sorted(identity.extra.items()):
        if not key:
            yield "impersonating the empty string key in extra is not allowed"
        if wrong := _key_problem(key):
            yield f"impersonating an invalid key in extra is not allowed: {wrong}"
        if key != key.lower():
            yield f"impersonating a non-lowercase key in extra is not allowed: {go_quoted(key)}"
        if "" in values:
            yield "impersonating the empty string value in extra is not allowed"


def _key_problem(key: str) -> str:
    """Return the error of an extra's key, which must be `DOMAIN/PATH`."""
    domain, _, path = key.partition("/")
    if not domain or not path:
        text = 'must be a domain-prefixed path (such as "acme.io/foo")'
        return str(invalid("extra.key", key, text))
    if wrong := dns_subdomain_errors(domain):
        return str(invalid("extra.key", domain, wrong[0]))
    if not re.fullmatch(_PATH, path):
        return str(invalid("extra.key", path, _PATH_SHOWN))
    return ""


def _impersonated_user(mode: Mode, identity: ImpersonationRequest) -> User:
    groups = list(identity.groups)
    account = _parse_service_account_user(identity.name)
    if account is not None and not groups:
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{account[0]}"]
    if mode.name and _parse_node_user(identity.name):
        groups = [_NODES]
    if identity.name == ANONYMOUS.name:
        groups += [] if _UNAUTHENTICATED in groups else [_UNAUTHENTICATED]
    elif _UNAUTHENTICATED not in groups and AUTHENTICATED not in groups:
        groups.append(AUTHENTICATED)
    extra = {key: tuple(values) for key, values in identity.extra.items()}
    return User(identity.name, tuple(groups), identity.uid, extra)
