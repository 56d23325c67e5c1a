"""Links log in once; sessions end; nothing grows without a limit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kapy.kube.http import ADMIN, User
from kapy.ui.sessions import (
    LINK_LIFE,
    MOST_DRAFTS,
    MOST_DRAFTS_OF_A_USER,
    MOST_LINKS,
    MOST_OF_A_USER,
    SESSION_LIFE,
    Draft,
    LinkUnusable,
    Sessions,
)


class _Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def test_a_link_logs_in_once() -> None:
    sessions = Sessions(_Clock())
    link = sessions.make_link(ADMIN, allow_actions=True)
    session = sessions.get(sessions.log_in(link))
    assert session is not None
    assert (session.user, session.allow_actions) == (ADMIN, True)
    assert session.accepts(session.csrf)
    assert not session.accepts("")
    with pytest.raises(LinkUnusable, match="used already"):
        sessions.log_in(link)


def test_links_and_sessions_end() -> None:
    clock = _Clock()
    sessions = Sessions(clock)
    early, late = sessions.make_link(ADMIN), sessions.make_link(ADMIN)
    session = sessions.log_in(early)
    clock.now += LINK_LIFE
    with pytest.raises(LinkUnusable):
        sessions.log_in(late)
    clock.now += SESSION_LIFE - LINK_LIFE - timedelta(seconds=1)
    assert sessions.get(session) is not None
    clock.now += timedelta(seconds=1)
    assert sessions.get(session) is None


def test_a_user_displaces_only_their_own_links() -> None:
    sessions = Sessions(_Clock())
    other = sessions.make_link(User("other"))
    first = sessions.make_link(ADMIN)
    for _ in range(MOST_OF_A_USER):
        sessions.make_link(ADMIN)
    with pytest.raises(LinkUnusable):
        sessions.log_in(first)
    assert sessions.get(sessions.log_in(other)) is not None


def test_all_links_together_have_a_limit() -> None:
    sessions = Sessions(_Clock())
    first = sessions.make_link(User("first"))
    for number in range(MOST_LINKS):
        sessions.make_link(User(f"user-{number}"))
    with pytest.raises(LinkUnusable):
        sessions.log_in(first)


def test_logging_out_ends_the_session() -> None:
    sessions = Sessions(_Clock())
    token = sessions.log_in(sessions.make_link(ADMIN))
    sessions.log_out(token)
    assert sessions.get(token) is None


def test_drafts_have_a_bound_for_each_user_and_for_all() -> None:
    sessions = Sessions(_Clock())

    def log_in(user: User) -> str:
        return sessions.log_in(sessions.make_link(user, draft=Draft("kind: Cluster")))

    def are_kept(tokens: list[str]) -> list[bool]:
        results = [sessions.get(token) for token in tokens]
        return [
            session is not None and session.draft == Draft("kind: Cluster") for session in results
        ]

    own = [log_in(ADMIN) for _ in range(MOST_DRAFTS_OF_A_USER + 2)]
    assert are_kept(own) == [False] * 2 + [True] * MOST_DRAFTS_OF_A_USER
    others = [log_in(User(f"user-{number}")) for number in range(MOST_DRAFTS)]
    assert are_kept(own + others) == [False] * len(own) + [True] * MOST_DRAFTS
    links = [sessions.make_link(ADMIN, draft=Draft("x")) for _ in range(MOST_DRAFTS_OF_A_USER + 1)]
    dropped = sessions.get(sessions.log_in(links[0]))
    assert dropped is not None
    assert dropped.draft == Draft("")
