"""Service accounts with few rights that ask to be somebody else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tests.differential.authorization import Asked
from tests.differential.authorization_model import Document, Subject
from tests.differential.authorization_talk import (
    AUTHENTICATION,
    NS,
    Talk,
    plain,
    pod,
    refused,
    rule,
)

_SELF: Final = f"/apis/{AUTHENTICATION}/v1/selfsubjectreviews"
_ON: Final = "selfsubjectreviews"


def _narrow(mode: str, resources: str, **more: Any) -> list[Document]:
    """The rights of one narrow mode of impersonation."""
    on = rule(f"impersonate-on:{mode}:create", _ON, "*")
    return [rule(f"impersonate:{mode}", resources, AUTHENTICATION, **more), on]


IMPERSONATORS: Final[Mapping[str, list[Document]]] = {
    "none": [],
    "everything": [rule("*", "*", "*")],
    "wide": [
        rule("impersonate", "users groups serviceaccounts"),
        rule("impersonate", "uids userextras/a.b/c userextras/scopes", AUTHENTICATION),
    ],
    "wide-named": [
        rule("impersonate", "users", resourceNames=["bob"]),
        rule("impersonate", "groups", resourceNames=["g1", ""]),
    ],
    "user-info": _narrow("user-info", "users groups uids"),
    "user-info-extras": _narrow("user-info", "users userextras/a.b/c userextras/*"),
    "user-info-all": _narrow("user-info", "users userextras groups", resourceNames=["*", "bob"]),
    "user-info-core": [
        rule("impersonate:user-info", "users groups uids"),
        rule("impersonate-on:user-info:create", _ON, "*"),
    ],
    "user-info-on": [rule("impersonate-on:user-info:create", _ON, "*")],
    "accounts": _narrow("serviceaccount", "serviceaccounts"),
    "accounts-named": _narrow("serviceaccount", "serviceaccounts", resourceNames=["x"]),
    "nodes": _narrow("arbitrary-node", "nodes"),
    "own-node": _narrow("associated-node", "nodes"),
    "own-node-named": _narrow("associated-node", "nodes", resourceNames=["n9"]),
}
_BOB: Final = ("user", "bob")
_X: Final = ("user", "system:serviceaccount:red:x")
WISHES: Final[tuple[tuple[tuple[str, str], ...], ...]] = (
    (_BOB,),
    (("user", "alice"),),
    (_BOB, ("group", "g1")),
    (_BOB, ("group", "g1"), ("group", "g2")),
    (_BOB, ("group", "")),
    (_BOB, ("group", "system:masters")),
    (_BOB, ("uid", "7")),
    (_BOB, ("extra-scopes", "v")),
    (_BOB, ("extra-a.b%2Fc", "v")),
    (_BOB, ("extra-A.b%2Fc", "v"), ("extra-a.b%2fc", "w")),
    (_BOB, ("extra-a.b%2Fc", "")),
    (_BOB, ("extra-a%zz", "v")),
    (_BOB, ("extra-a.b%2F%41", "v")),
    (_BOB, ("extra-", "v")),
    (_BOB, *(("group", f"g{number}") for number in range(5))),
    (_BOB, *(("extra-a.b%2Fc", f"v{number}") for number in range(5))),
    (_X,),
    (_X, ("group", "g1")),
    (("user", "system:serviceaccount:red:x:y"),),
    (("user", "system:serviceaccount:Red:x"),),
    (("user", "system:serviceaccount:red:"),),
    (("user", "system:node:n9"),),
    (("user", "system:node:n8"),),
    (("user", "system:node:N 9"),),
    (("user", "system:node:"),),
    (("user", "system:node:n9"), ("group", "system:nodes")),
    (("user", "system:anonymous"),),
    (_BOB, ("group", "system:unauthenticated")),
    (("user", "system:anonymous"), ("group", "system:authenticated")),
    (("group", "g1"),),
    (("uid", "x"),),
    (("extra-x", "y"),),
    (("user", ""),),
    (("user", ""), ("group", "g")),
    (("foo", "x"),),
    (("foo", "x"), _BOB),
    (_BOB, ("user", "alice")),
    (("user", ""), _BOB),
    (("uid", ""), ("uid", "7"), _BOB),
    (("user", "böb"),),
    (("user", "b<o>b"), ("group", "g&")),
)


async def impersonation(talk: Talk) -> None:
    """Service accounts with few rights that ask to be somebody."""
    await talk.make("/api/v1/nodes", {"metadata": {"name": "n9"}})
    tokens = {}
    for name, rules in IMPERSONATORS.items():
        account = f"as-{name}"
        await talk.make(f"{NS}/serviceaccounts", {"metadata": {"name": account}})
        if rules:
            subject = {"kind": "ServiceAccount", "name": account, "namespace": "red"}
            await talk.role(account, rules, subject)
        bound: Document = {}
        if name.startswith("own-node"):
            await talk.make(f"{NS}/pods", pod(account, account, "n9"))
            bound = {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": account}}
        tokens[name] = await talk.issued(account, **bound)
    await talk.settle()
    body = {"apiVersion": f"{AUTHENTICATION}/v1", "kind": "SelfSubjectReview"}
    for name, token in tokens.items():
        for wish in WISHES:
            headers = tuple((f"impersonate-{header}", value) for header, value in wish)
            nobody = Subject("")
            request = Asked("review", nobody, "POST", _SELF, body, bearer=token, headers=headers)
            answer = await talk.peer.ask(request)
            label = f"{name}: {', '.join('='.join(entry) for entry in wish)}"
            talk.answers[label] = plain(answer.review or refused(answer))
