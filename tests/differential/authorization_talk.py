"""One server that is asked, by its administrator and by tokens that it issued; answers without what
differs from run to run: uids, times, tokens and the issuer are replaced by a word."""

from __future__ import annotations

import base64
import json
import re
from typing import Any, Final

from tests.differential.authorization_model import RBAC, Document
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
    """Return the status of an answer and, for an error, its message, reason and details."""
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
        return [self.own if word == "OWN" else word for word in words]

    async def settle(self) -> None:
        """Wait until roles that were made count, and find out what the server calls itself."""
        document = await self.make(f"{NS}/serviceaccounts", {"metadata": {"name": "settled"}})
        del document
        claims = claims_of(await self.issued("settled"))
        (self.own,) = claims["aud"]
        rules = [rule("settle", "all")]
        user = {"kind": "User", "apiGroup": RBAC, "name": "settled"}
        await self.role("settled", rules, user)
        request = {"verb": "settle", "resource": "all"}
        await self._wait({"user": "settled", "resourceAttributes": request})
        await self._wait({**KNOWN, "nonResourceAttributes": OPEN})

    async def _wait(self, spec: Document) -> None:
        """Wait until something is allowed."""
        for _ in range(10_000):
            target = f"/apis/{AUTHORIZATION}/v1/subjectaccessreviews"
            if (await self.admin("POST", target, {"spec": spec})).review.get("allowed"):
                return
        raise AssertionError(f"never allowed: {spec}")


OPEN: Final[Document] = {"path": "/apis", "verb": "get"}
KNOWN: Final[Document] = {"groups": ["system:authenticated"]}


def claims_of(token: str) -> Document:
    """Return the claims of a JSON Web Token."""
    content = token.split(".")[1]
    document: Document = json.loads(base64.urlsafe_b64decode(content + "=" * (-len(content) % 4)))
    return document


def rule(verbs: str, resources: str, group: str = "", **more: Any) -> Document:
    """A rule; words are separated by spaces."""
    results = {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split()}
    return {**results, **more}


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


def pod(name: str, account: str, node: str = "") -> Document:
    spec = {"serviceAccountName": account, "containers": [{"name": "c", "image": "i"}]}
    return {"metadata": {"name": name}, "spec": {**spec, **({"nodeName": node} if node else {})}}
