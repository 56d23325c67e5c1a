"""One-time links, and the sessions that they begin. All of it is kept in memory only."""

from __future__ import annotations

import hmac
import secrets
import shlex
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, NamedTuple, TypeAlias

import msgspec

from kapy._aio.clock import Clock
from kapy.kube.errors import KapyError
from kapy.kube.http import User

LINK_LIFE: Final = timedelta(minutes=15)
SESSION_LIFE: Final = timedelta(hours=12)
MOST_LINKS: Final = 200
MOST_SESSIONS: Final = 1000
MOST_OF_A_USER: Final = 20
"""Links and sessions that one user may have; a new one replaces the oldest."""
MOST_DRAFTS: Final = 20
MOST_DRAFTS_OF_A_USER: Final = 3
"""Drafts that links keep, and that sessions keep: older ones make room for new ones."""


class LinkUnusable(KapyError):
    """The link was used before, has expired, or does not exist."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A change whose plan a link shows (`kapy plan --open`). text: "" if it is no longer kept."""

    text: str
    namespace: str = "default"
    deletes: bool = False


Flag: TypeAlias = Annotated[str, msgspec.Meta(max_length=4096)]


class ChosenKubeconfig(NamedTuple):
    """The kubeconfig and context that the user named to `kapy ui`, "" for the usual ones."""

    file: Flag = ""
    context: Flag = ""

    def flags(self, context_flag: str) -> str:
        """Return the flags with which a printed command reaches the same server."""
        chosen = (("--kubeconfig", self.file), (context_flag, self.context))
        return "".join(f" {flag} {shlex.quote(value)}" for flag, value in chosen if value)


USUAL_KUBECONFIG: Final = ChosenKubeconfig()


@dataclass(frozen=True, slots=True)
class Session:
    """The session of a browser that is logged in, or of a link that logs one in.

    allow_actions: whether the browser may change objects. draft: the change whose plan the browser
    shows first. kubeconfig: the kubeconfig in the commands that pages print. csrf: the token that
    each form of the session sends, "" for a link.
    """

    user: User
    ends: datetime
    allow_actions: bool = False
    draft: Draft | None = None
    kubeconfig: ChosenKubeconfig = USUAL_KUBECONFIG
    csrf: str = ""

    def accepts(self, token: str) -> bool:
        """Report whether a form's token is that of this session."""
        return hmac.compare_digest(self.csrf.encode(), token.encode())


class _Tokens:
    """Sessions or links by random token, with limits in number for all and for each user."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[str, Session] = {}

    def add(self, value: Session, now: datetime) -> str:
        self._values = {name: item for name, item in self._values.items() if item.ends > now}
        own = [name for name, item in self._values.items() if item.user.name == value.user.name]
        excess = own[: max(len(own) + 1 - MOST_OF_A_USER, 0)]
        rest = [name for name in self._values if name not in excess]
        for name in excess + rest[: max(len(rest) + 1 - self._most, 0)]:
            del self._values[name]
        token = secrets.token_urlsafe(32)
        self._values[token] = value
        drafts = [name for name, item in self._values.items() if item.draft and item.draft.text]
        own = [name for name in drafts if self._values[name].user.name == value.user.name]
        for name in own[:-MOST_DRAFTS_OF_A_USER] + drafts[:-MOST_DRAFTS]:
            self._values[name] = replace(self._values[name], draft=Draft(""))
        return token

    def get(self, token: str, now: datetime) -> Session | None:
        value = self._values.get(token)
        return value if value is not None and value.ends > now else None

    def pop(self, token: str) -> Session | None:
        return self._values.pop(token, None)


class Sessions:
    """The links and sessions of one server of pages."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._links = _Tokens(MOST_LINKS)
        self._sessions = _Tokens(MOST_SESSIONS)

    def make_link(self, user: User, **properties: Any) -> str:
        """Return the token of a new one-time link. properties: values for the fields of its
        Session.
        """
        now = self._clock()
        return self._links.add(Session(user, now + LINK_LIFE, **properties), now)

    def log_in(self, token: str) -> str:
        """Use a link; return the token of the new session. Raises LinkUnusable."""
        now = self._clock()
        link = self._links.pop(token)
        if link is None or link.ends <= now:
            raise LinkUnusable(
                "this link was used already, or is older than "
                f"{LINK_LIFE // timedelta(minutes=1)} minutes: `kapy ui` prints a new one"
            )
        session = replace(link, ends=now + SESSION_LIFE, csrf=secrets.token_urlsafe(32))
        return self._sessions.add(session, now)

    def get(self, token: str) -> Session | None:
        """Return the session of a cookie, None if there is none or it has ended."""
        return self._sessions.get(token, self._clock())

    def log_out(self, token: str) -> None:
        """End the session of a token."""
        self._sessions.pop(token)
