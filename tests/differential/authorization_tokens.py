"""TokenRequests and TokenReviews."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from tests.differential.authorization_model import Document
from tests.differential.authorization_talk import NS, Talk, claims_of, plain, pod

AUDIENCES: Final[tuple[list[str] | None, ...]] = (
    *(None, [], ["OWN"], ["vault"], ["OWN", "vault"]),
    *(["vault", "OWN", "OWN"], [""], ["vault", "x"]),
)
_BAD: Final = ("", " ", "x", "a.b.c", " x", "x y", "a b c", "eyJhbGciOiJub25lIn0.eyJpc3MiOiJhIn0.")


def _bound(kind: str, name: str, version: str = "v1", **more: Any) -> Document:
    return {"boundObjectRef": {"kind": kind, "apiVersion": version, "name": name, **more}}


_REQUESTS: Final[tuple[Document, ...]] = (
    {},
    {"expirationSeconds": 3607},
    _bound("Secret", "s"),
    _bound("Pod", "p"),
    _bound("Pod", "p2"),
    _bound("Node", "n1"),
    _bound("Secret", "nope"),
    _bound("Pod", "nope"),
    _bound("Node", "nope"),
    _bound("ConfigMap", "x"),
    _bound("Pod", "p", "v2"),
    _bound("Pod", "p", "x/v1"),
    _bound("Secret", ""),
    {"boundObjectRef": {}},
    _bound("Secret", "s", uid="zz"),
    _bound("Pod", "p", uid="zz"),
    {**_bound("Pod", "p"), "expirationSeconds": 3607},
    {**_bound("Pod", "p"), "expirationSeconds": 3607, "audiences": ["vault"]},
    {**_bound("Pod", "p"), "expirationSeconds": 3607, "audiences": ["OWN", "vault"]},
    {"expirationSeconds": 1},
    {"expirationSeconds": 1 << 33},
    {"expirationSeconds": 0},
    {"metadata": {"name": "robot"}},
    {"metadata": {"name": "other"}},
    {"metadata": {"namespace": "blue"}},
    {"metadata": {"uid": "zz"}},
    {"metadata": {"labels": {"a": "b"}}},
)


async def tokens(talk: Talk) -> None:
    """TokenRequests and TokenReviews: audiences, bindings, and what was deleted."""
    for name in ("robot", "gone", "renewed"):
        await talk.make(f"{NS}/serviceaccounts", {"metadata": {"name": name}})
    for name in ("s", "s2"):
        await talk.make(f"{NS}/secrets", {"metadata": {"name": name}})
    await talk.make("/api/v1/nodes", {"metadata": {"name": "n1"}})
    await talk.make("/api/v1/nodes", {"metadata": {"name": "n2"}})
    await talk.make(f"{NS}/pods", pod("p", "robot", "n1"))
    await talk.make(f"{NS}/pods", pod("p2", "other"))
    await talk.make(f"{NS}/pods", pod("p3", "robot"))
    await talk.settle()
    for has in AUDIENCES:
        spec = {} if has is None else {"audiences": has}
        token = await talk.issued("robot", **spec)
        for audience in AUDIENCES:
            talk.answers[f"for {has}, asked {audience}"] = await talk.review(token, audience)
    for bad in _BAD:
        talk.answers[f"bad {bad!r}"] = await talk.review(bad)
        talk.answers[f"bad {bad!r} for others"] = await talk.review(bad, ["vault"])
    good = await talk.issued("robot")
    talk.answers["with words behind"] = await talk.review(f"{good} junk")
    talk.answers["with a space before"] = await talk.review(f" {good}")
    for spec in _REQUESTS:
        answer = await talk.token("robot", **spec)
        document = answer.document or {}
        if answer.status == 201:
            result = _lives(claims_of(document["status"]["token"]))
            document["metadata"].pop("managedFields", None)
            document["claims"] = result
        talk.answers[f"request {spec}"] = plain([answer.status, document])
    await _deleted(talk)


def _lives(claims: Document) -> Document:
    """The claims of a token, their times counted from when it was issued."""
    begins = claims.pop("iat")
    result = claims["kubernetes.io"]
    if "warnafter" in result:
        result["warnafter"] -= begins
    return {**claims, "exp": claims["exp"] - begins, "nbf": claims["nbf"] - begins}


async def _deleted(talk: Talk) -> None:
    """Tokens of what is not there any more."""
    for kind, name, place in (
        ("Secret", "s2", f"{NS}/secrets"),
        ("Pod", "p3", f"{NS}/pods"),
        ("Node", "n2", "/api/v1/nodes"),
    ):
        bound = [await talk.issued("robot", **_bound(kind, name)) for _ in range(_TRIES)]
        await talk.admin("DELETE", f"{place}/{name}?gracePeriodSeconds=0")
        talk.answers[f"{kind} is gone"] = await _last(talk, bound)
    accounts = f"{NS}/serviceaccounts"
    for name, again in (("gone", False), ("renewed", True)):
        issued = [await talk.issued(name) for _ in range(_TRIES)]
        await talk.admin("DELETE", f"{accounts}/{name}")
        if again:
            await talk.make(accounts, {"metadata": {"name": name}})
        talk.answers[f"account is {name}"] = await _last(talk, issued)


_TRIES: Final = 12


async def _last(talk: Talk, tokens: list[str]) -> Any:
    """The review of the first token that is refused. A real server hears of deletions a moment
    later, and remembers whose a token was: so each is looked at once."""
    for token in tokens:
        result = await talk.review(token)
        if not result.get("authenticated"):
            return result
        await asyncio.sleep(0.05)
    return "still accepted"
