"""Chosen requests about rights and tokens, whose answers a real server was recorded with.

A topic asks one server and tells its answers by label; what differs from run to run (uids, times,
tokens, the issuer) is replaced by a word.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from tests.differential.authorization import Asked
from tests.differential.authorization_model import RBAC, Document, Subject
from tests.differential.authorization_peers import Answer, Peer, admin

Answers = dict[str, Any]

NS: Final = "/api/v1/namespaces/red"
ROLES: Final = f"/apis/{RBAC}/v1"
AUTHENTICATION: Final = "authentication.k8s.io"
AUTHORIZATION: Final = "authorization.k8s.io"
_ISSUER: Final = re.compile(r"https://kubernetes\.default\.svc(\.cluster\.local)?(?=[\"\\])")
_UID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}")
_TOKEN: Final = re.compile(r"eyJ[\w.-]+")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")


def plain(value: Any) -> Any:
    """An answer without what differs from run to run."""
    text = json.dumps(value, ensure_ascii=False)
    for pattern, word in ((_TOKEN, "TOKEN"), (_UID, "UID"), (_TIME, "TIME"), (_ISSUER, "OWN")):
        text = pattern.sub(word, text)
    return json.loads(text)


def refused(answer: Answer) -> list[Any]:
    """What a client sees of an answer, apart from the object that it got."""
    document = answer.document or {}
    if answer.status < 300:
        return [answer.status]
    return [answer.status, answer.message, document.get("reason"), document.get("details")]


class Talk:
    """One server, and what a topic does with it. own: the server itself, as an audience."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.answers: Answers = {}
        self.own = ""

    async def admin(self, method: str, target: str, body: Document | None = None) -> Answer:
        return await self.peer.ask(admin(method, target, body))

    async def make(self, target: str, body: Document) -> Document:
        answer = await self.admin("POST", target, body)
        assert answer.status == 201, (target, answer)
        assert answer.document is not None
        return answer.document

    async def role(self, name: str, rules: list[Document], *subjects: Document) -> None:
        """A ClusterRole, and a binding of it to subjects."""
        await self.make(f"{ROLES}/clusterroles", cluster_role(name, rules))
        if subjects:
            target = f"{ROLES}/clusterrolebindings"
            await self.make(target, binding(name, list(subjects), name))

    async def token(self, account: str, **spec: Any) -> Answer:
        """The answer to a TokenRequest. In audiences, OWN is the server itself."""
        if "audiences" in spec:
            spec["audiences"] = self._audiences(spec["audiences"])
        metadata = spec.pop("metadata", {})
        body = {"apiVersion": f"{AUTHENTICATION}/v1", "kind": "TokenRequest", "spec": spec}
        target = f"{NS}/serviceaccounts/{account}/token"
        return await self.admin("POST", target, {**body, "metadata": metadata})

    async def issued(self, account: str, **spec: Any) -> str:
        answer = await self.token(account, **spec)
        return str(answer.review.get("token", "no token"))

    async def review(self, token: str, audiences: list[str] | None = None) -> Any:
        """The status of a TokenReview."""
        spec: Document = {"token": token}
        if audiences is not None:
            spec["audiences"] = self._audiences(audiences)
        body = {"apiVersion": f"{AUTHENTICATION}/v1", "kind": "TokenReview", "spec": spec}
        answer = await self.admin("POST", f"/apis/{AUTHENTICATION}/v1/tokenreviews", body)
        return plain(answer.review or refused(answer))

    def _audiences(self, words: list[str]) -> list[str]:
        return [self.own if one == "OWN" else one for one in words]

    async def settle(self) -> None:
        """Wait until roles that were made count, and find out what the server calls itself."""
        made = await self.make(f"{NS}/serviceaccounts", {"metadata": {"name": "settled"}})
        del made
        claims = claims_of(await self.issued("settled"))
        (self.own,) = claims["aud"]
        rules = [rule("settle", "all")]
        user = {"kind": "User", "apiGroup": RBAC, "name": "settled"}
        await self.role("settled", rules, user)
        asked = {"verb": "settle", "resource": "all"}
        await self._wait({"user": "settled", "resourceAttributes": asked})
        await self._wait({**_KNOWN, "nonResourceAttributes": _OPEN})

    async def _wait(self, spec: Document) -> None:
        """Wait until something is allowed."""
        for _ in range(10_000):
            target = f"/apis/{AUTHORIZATION}/v1/subjectaccessreviews"
            if (await self.admin("POST", target, {"spec": spec})).review.get("allowed"):
                return
        raise AssertionError(f"never allowed: {spec}")


_OPEN: Final[Document] = {"path": "/apis", "verb": "get"}
_KNOWN: Final[Document] = {"groups": ["system:authenticated"]}


def claims_of(token: str) -> Document:
    """What a token says."""
    content = token.split(".")[1]
    found: Document = json.loads(base64.urlsafe_b64decode(content + "=" * (-len(content) % 4)))
    return found


def rule(verbs: str, resources: str, group: str = "", **more: Any) -> Document:
    """A rule; words are separated by spaces."""
    found = {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split()}
    return {**found, **more}


def cluster_role(name: str, rules: list[Document], **more: Any) -> Document:
    metadata = {"name": name, **more.pop("metadata", {})}
    api = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole"}
    return {**api, "metadata": metadata, "rules": rules, **more}


def binding(name: str, subjects: Any, role: str, kind: str = "ClusterRole") -> Document:
    reference = {"apiGroup": RBAC, "kind": kind, "name": role}
    api = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRoleBinding"}
    return {**api, "metadata": {"name": name}, "roleRef": reference, "subjects": subjects}


def user(name: str) -> Document:
    return {"kind": "User", "apiGroup": RBAC, "name": name}


# impersonation

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
            asked = Asked("review", nobody, "POST", _SELF, body, bearer=token, headers=headers)
            answer = await talk.peer.ask(asked)
            label = f"{name}: {', '.join('='.join(one) for one in wish)}"
            talk.answers[label] = plain(answer.review or refused(answer))


def pod(name: str, account: str, node: str = "") -> Document:
    spec = {"serviceAccountName": account, "containers": [{"name": "c", "image": "i"}]}
    return {"metadata": {"name": name}, "spec": {**spec, **({"nodeName": node} if node else {})}}


# tokens

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
        for asked in AUDIENCES:
            talk.answers[f"for {has}, asked {asked}"] = await talk.review(token, asked)
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
            told = _lives(claims_of(document["status"]["token"]))
            document["metadata"].pop("managedFields", None)
            document["claims"] = told
        talk.answers[f"request {spec}"] = plain([answer.status, document])
    await _deleted(talk)


def _lives(claims: Document) -> Document:
    """The claims of a token, their times counted from when it was issued."""
    begins = claims.pop("iat")
    said = claims["kubernetes.io"]
    if "warnafter" in said:
        said["warnafter"] -= begins
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
        found = await talk.review(token)
        if not found.get("authenticated"):
            return found
        await asyncio.sleep(0.05)
    return "still accepted"


# reviews

_FIELD: Final[tuple[Document, ...]] = (
    {},
    {"rawSelector": "a=b"},
    {"rawSelector": "a b"},
    {"rawSelector": "a=b", "requirements": [{"key": "a", "operator": "In", "values": ["b"]}]},
    {"requirements": [{"key": "a", "operator": "In", "values": ["b"]}]},
    {"requirements": [{"key": "a", "operator": "In", "values": ["b", "c"]}]},
    {"requirements": [{"key": "a", "operator": "In"}]},
    {"requirements": [{"key": "", "operator": "In", "values": ["b"]}]},
    {"requirements": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
    {"requirements": [{"key": "a", "operator": "Exists"}]},
    {"requirements": [{"key": "a", "operator": "New"}]},
    {
        "requirements": [
            {"key": "a", "operator": "New"},
            {"key": "a", "operator": "In", "values": ["b"]},
        ]
    },
    {"requirements": [{"key": "a b", "operator": "NotIn", "values": ["b"]}]},
    {"requirements": [{"key": "a", "operator": "NotIn", "values": ["b b"]}]},
    {"requirements": [{"operator": "NotIn", "values": ["b b"]}]},
)
_PODS: Final[Document] = {"verb": "get", "resource": "pods"}
_HERE: Final[Document] = {**_PODS, "namespace": "red"}
_REVIEWS: Final[tuple[tuple[str, Document, Document], ...]] = (
    ("Subject", {}, {}),
    ("Subject", {"user": "x"}, {}),
    ("Subject", {"user": "", "groups": [], "resourceAttributes": _PODS}, {}),
    ("Subject", {"user": "x", "resourceAttributes": _PODS, "nonResourceAttributes": _OPEN}, {}),
    ("Subject", {"user": "x", "resourceAttributes": {}}, {}),
    ("Subject", {"user": "all", "resourceAttributes": {"verb": "get"}}, {}),
    ("Subject", {"user": "all", "resourceAttributes": {**_PODS, "subresource": "log"}}, {}),
    ("Subject", {"user": "all", "nonResourceAttributes": {}}, {}),
    ("Subject", {"user": "all", "nonResourceAttributes": {"path": "/metrics"}}, {}),
    ("Subject", {"user": "x", "nonResourceAttributes": _OPEN, **_KNOWN}, {}),
    ("Subject", {"nonResourceAttributes": _OPEN, **_KNOWN}, {}),
    ("Subject", {"groups": ["system:masters"], "resourceAttributes": _PODS}, {}),
    ("Subject", {"user": "dangling", "resourceAttributes": _PODS}, {}),
    ("Subject", {"user": "dangling", "resourceAttributes": _HERE}, {}),
    ("Subject", {"user": "x", "resourceAttributes": _PODS}, {"name": "x"}),
    ("Subject", {"user": "x", "resourceAttributes": _PODS}, {"labels": {"a": "b"}}),
    ("Subject", {"user": "x", "resourceAttributes": _PODS}, {"managedFields": []}),
    ("Subject", {"user": "x", "resourceAttributes": _PODS}, {"uid": "zz"}),
    ("SelfSubject", {"resourceAttributes": _PODS}, {"generateName": "x"}),
    ("SelfSubject", {"nonResourceAttributes": _OPEN}, {}),
    ("SelfSubject", {}, {}),
    ("LocalSubject", {"user": "x", "resourceAttributes": _HERE}, {}),
    ("LocalSubject", {"user": "x", "resourceAttributes": {**_HERE, "namespace": "blue"}}, {}),
    ("LocalSubject", {"user": "x", "resourceAttributes": _PODS}, {}),
    ("LocalSubject", {"user": "x", "nonResourceAttributes": _OPEN}, {}),
    ("LocalSubject", {"user": "x", "resourceAttributes": _HERE}, {"namespace": "red"}),
    ("LocalSubject", {"user": "x", "resourceAttributes": _HERE}, {"namespace": "blue"}),
    ("LocalSubject", {"user": "x", "resourceAttributes": _HERE}, {"name": "n"}),
    ("LocalSubject", {"resourceAttributes": _HERE}, {}),
)


async def reviews(talk: Talk) -> None:
    """Questions about access, right and wrong ones."""
    await talk.role("all", [rule("*", "*", "*")], user("all"))
    target = f"{ROLES}/clusterrolebindings"
    for name in ("one", "two"):
        await talk.make(target, binding(f"lost-{name}", [user("dangling")], f"lost-{name}"))
    lost = {**binding("lost", [user("dangling")], "lost", "Role"), "kind": "RoleBinding"}
    await talk.make(f"{ROLES}/namespaces/red/rolebindings", lost)
    await talk.settle()
    for name in ("fieldSelector", "labelSelector"):
        for selector in _FIELD:
            spec = {"user": "all", "resourceAttributes": {**_PODS, name: selector}}
            await _ask(talk, "Subject", spec, {})
    for kind, spec, metadata in _REVIEWS:
        await _ask(talk, kind, spec, metadata)


async def _ask(talk: Talk, who: str, spec: Document, metadata: Document) -> None:
    kind = f"{who}AccessReview"
    body: Document = {"apiVersion": f"{AUTHORIZATION}/v1", "kind": kind, "spec": spec}
    if metadata:
        body["metadata"] = metadata
    space = "/namespaces/red" if who == "LocalSubject" else ""
    answer = await talk.admin("POST", f"/apis/{AUTHORIZATION}/v1{space}/{kind.lower()}s", body)
    found = plain(answer.review or refused(answer))
    if isinstance(found, dict) and "reason" in found:
        found["reason"] = _sorted(found["reason"])
    talk.answers[f"{kind} {spec} {metadata}"] = found


def _sorted(reason: str) -> str:
    """A reason with its problems in alphabetical order: theirs is that of a Go map."""
    begin, bracket, problems = reason.partition("[")
    listed = ", ".join(sorted(problems.removesuffix("]").split(", ")))
    return f"{begin}{bracket}{listed}"


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
