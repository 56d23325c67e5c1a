"""Chosen requests about rights and tokens, whose answers a real server was recorded with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from tests.differential.authorization_impersonation import impersonation
from tests.differential.authorization_peers import Peer, admin
from tests.differential.authorization_reviews import reviews
from tests.differential.authorization_talk import Answers, Talk
from tests.differential.authorization_tokens import tokens

TOPICS: Final[Mapping[str, Callable[[Talk], Awaitable[None]]]] = {
    "impersonation": impersonation,
    "reviews": reviews,
    "tokens": tokens,
}


async def answers(peer: Peer, topic: str) -> Answers:
    """The answers of a server to all requests of a topic."""
    for space in ("red", "blue"):
        await peer.ask(admin("POST", "/api/v1/namespaces", {"metadata": {"name": space}}))
    talk = Talk(peer)
    await TOPICS[topic](talk)
    return talk.answers
