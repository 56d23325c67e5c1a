"""Worlds installed, requests asked, answers judged: by the model, and against each other."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.differential.authorization import SPACES, Asked, Draw, rules_of, writers
from tests.differential.authorization_model import (
    DEFAULTS,
    RBAC,
    Document,
    Question,
    Subject,
    World,
    grants_too_much,
    held,
    impersonated,
    question_of,
    refusal,
    verdict,
)
from tests.differential.authorization_peers import Answer, Peer, admin

PER_WORLD: Final = 250
_AT_ONCE: Final = 8
_PATIENCE: Final = 200
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


@dataclass
class Outcome:
    """pairs: of rules and requests that were judged, by kind. wrong: what was not as it must be."""

    pairs: dict[str, int] = field(default_factory=dict)
    allowed: int = 0
    wrong: list[str] = field(default_factory=list)


async def compare(peers: Sequence[Peer], count: int, seed: int) -> Outcome:
    """Ask all peers `count` requests in worlds of `seed`, and judge all answers."""
    outcome = Outcome()
    for peer in peers:
        await _prepare(peer)
    for number, start in enumerate(range(0, count, PER_WORLD)):
        draw = Draw(seed * 1000 + number, f"w{seed}-{number}")
        world, more = draw.world(), writers(draw)
        world = World(world.roles + more.roles, world.bindings + more.bindings)
        for peer in peers:
            await _install(peer, world, f"w{seed}-{number}")
        judge = Judge(world)
        limit = asyncio.Semaphore(_AT_ONCE)

        async def ask(
            request: Asked, judge: Judge = judge, limit: asyncio.Semaphore = limit
        ) -> None:
            async with limit:
                answers = [await peer.ask(request) for peer in peers]
            outcome.pairs[request.kind] = outcome.pairs.get(request.kind, 0) + 1
            outcome.allowed += answers[0].status != 403
            outcome.wrong += [f"{request.told}\n    {why}" for why in judge.judge(request, answers)]

        requests = draw.requests(world, min(PER_WORLD, count - start))
        await asyncio.gather(*(ask(request) for request in requests))
    return outcome


async def _prepare(peer: Peer) -> None:
    """Namespaces, and an object that can be found, in each of them; the default roles count."""
    own = Judge(World())
    for subject in (Subject("somebody"), Subject(f"system:serviceaccount:{SPACES[0]}:some")):
        for _ in range(_PATIENCE):
            rules = rules_of(subject, SPACES[0])
            if not own.judge(rules, [await peer.ask(rules)]):
                break
            await asyncio.sleep(0.05)
    for space in SPACES:
        metadata = {"name": space}
        await peer.ask(admin("POST", "/api/v1/namespaces", {"metadata": metadata}))
        target = f"/api/v1/namespaces/{space}/configmaps"
        await peer.ask(admin("POST", target, {"metadata": {"name": "a"}}))


async def _install(peer: Peer, world: World, tag: str) -> None:
    """Write roles and bindings, and wait until the last of each kind counts."""
    last = _sentinels(tag)
    for role in (*world.roles, *world.bindings, *last.roles, *last.bindings):
        space = role["metadata"].get("namespace")
        place = f"/apis/{RBAC}/v1/namespaces/{space}" if space else f"/apis/{RBAC}/v1"
        answer = await peer.ask(admin("POST", f"{place}/{role['kind'].lower()}s", role))
        assert answer.status == 201, (role, answer)
    for space in ("", SPACES[-1]):
        request = {"verb": f"sentinel{space}", "resource": "x", "namespace": space}
        spec = {"user": f"{tag}-sentinel", "resourceAttributes": request}
        for _ in range(_PATIENCE):
            answer = await peer.ask(admin("POST", _REVIEWS, {"spec": spec}))
            if answer.review.get("allowed"):
                break
            await asyncio.sleep(0.05)
        else:
            raise AssertionError(f"the roles of {tag} never counted: {answer}")


def _sentinels(tag: str) -> World:
    roles, bindings = [], []
    for space in ("", SPACES[-1]):
        metadata = {"name": f"{tag}-sentinel", **({"namespace": space} if space else {})}
        kind = "Role" if space else "ClusterRole"
        rule = {"verbs": [f"sentinel{space}"], "apiGroups": [""], "resources": ["x"]}
        api = f"{RBAC}/v1"
        roles.append({"apiVersion": api, "kind": kind, "metadata": metadata, "rules": [rule]})
        bindings.append(
            {
                "apiVersion": api,
                "kind": f"{kind}Binding",
                "metadata": metadata,
                "roleRef": {"apiGroup": RBAC, "kind": kind, "name": metadata["name"]},
                "subjects": [{"kind": "User", "apiGroup": RBAC, "name": metadata["name"]}],
            }
        )
    return World(roles, bindings)


class Judge:
    """Knows what all answers in one world must be."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._whole = World(
            world.roles + [role for role, _ in DEFAULTS],
            world.bindings + [binding for _, binding in DEFAULTS],
        )

    def judge(self, request: Asked, answers: Sequence[Answer]) -> list[str]:
        """Return the errors in the answers, and the differences between them."""
        check = {
            "request": self._request,
            "review": self._review,
            "grant": self._grant,
            "rules": self._rules,
        }[request.kind]
        judged = [check(request, answer) for answer in answers]
        wrong = [f"peer {at}: {why}" for at, why in enumerate(judged) if why]
        first, *others = (_comparable(request, answer) for answer in answers)
        wrong += [f"peer 0: {first}\n    another: {entry}" for entry in others if entry != first]
        return wrong

    def _request(self, request: Asked, answer: Answer) -> str:
        question = question_of(request.method, request.target)
        return self._authorized(impersonated(request.subject), question, request, answer)

    def _authorized(
        self, subject: Subject, question: Question, request: Asked, answer: Answer
    ) -> str:
        result = verdict(self._whole, subject, question)
        if result.allowed:
            refused = answer.status == 403 and " cannot " in answer.message
            return f"refused: {answer}, allowed by {set(result.reasons)}" if refused else ""
        if answer.status != 403:
            return f"{answer.status} {answer.message}, but {refusal(subject, question)}"
        if request.method == "HEAD":
            return ""
        message, _, why = answer.message.partition(": RBAC: ")
        wanted = refusal(subject, question)
        if message != wanted:
            return f"said {message!r}, not {wanted!r}"
        return "" if _listed(why) == result.reasons else f"said {why!r}, not {set(result.reasons)}"

    def _review(self, request: Asked, answer: Answer) -> str:
        spec = (request.body or {})["spec"]
        result = verdict(self._world, request.subject, _question(spec))
        status = answer.review
        reason = status.get("reason", "")
        if status.get("allowed") is not result.allowed:
            return f"{status}, but {result}"
        listed = frozenset(_listed(reason.removeprefix("RBAC: ")))
        right = reason in result.reasons if result.allowed else listed == result.reasons
        return "" if right else f"{status}, but {result}"

    def _grant(self, request: Asked, answer: Answer) -> str:
        subject = impersonated(request.subject)
        question = question_of(request.method, request.target)
        if not verdict(self._whole, subject, question).allowed:
            return self._authorized(subject, question, request, answer)
        body, space = request.body or {}, question.namespace
        reference = body.get("roleRef")
        rules: list[Document] | None = body.get("rules")
        if reference is not None:
            plural = f"{reference['kind'].lower()}s"
            special = Question("bind", None, RBAC, plural, "", space, reference["name"])
            rules = self._whole.rules({**body, "metadata": {"namespace": space}})
        else:
            special = Question("escalate", None, RBAC, question.resource, "", space)
        if verdict(self._whole, subject, special).allowed:
            return "" if answer.status == 201 else f"{answer}, but may {special.verb}"
        if rules is None:
            return "" if answer.status == 404 else f"{answer}, but the role is not there"
        too_much = grants_too_much(held(self._whole, subject, space), rules)
        wanted = 403 if too_much else 201
        return "" if answer.status == wanted else f"{answer}, not {wanted}"

    def _rules(self, request: Asked, answer: Answer) -> str:
        space = (request.body or {})["spec"]["namespace"]
        own = held(self._whole, impersonated(request.subject), space)
        status = answer.review
        rules = [*status.get("resourceRules", ()), *status.get("nonResourceRules", ())]
        wanted = sorted(map(_canonical, own))
        return "" if sorted(map(_canonical, rules)) == wanted else f"{rules}, not {own}"


def _canonical(rule: Document) -> str:
    return str(sorted((key, value) for key, value in rule.items() if value))


def _question(spec: Document) -> Question:
    path = spec.get("nonResourceAttributes")
    if path is not None:
        return Question(path.get("verb", ""), path.get("path", ""))
    attributes = spec["resourceAttributes"]
    fields = ("group", "resource", "subresource", "namespace", "name")
    return Question(attributes["verb"], None, *(attributes.get(text, "") for text in fields))


def _listed(why: str) -> set[str]:
    """The problems in a reason; their order is that of a Go map."""
    text = why.removeprefix("[").removesuffix("]")
    return set(text.split(", ")) if text else set()


def _comparable(request: Asked, answer: Answer) -> tuple[object, ...]:
    """Return the part of an answer that must be equal on all servers."""
    document = answer.document or {}
    if request.kind == "review":
        return answer.status, answer.review.get("allowed")
    if request.kind == "rules":
        error = answer.review.get("evaluationError", "")
        return answer.status, tuple(sorted(_listed(error)))
    if answer.status != 403 and question_of(request.method, request.target).path is not None:
        return ("allowed; what such a page answers to this method is no matter of rights",)
    if answer.status < 300:
        return (answer.status,)
    if answer.status == 403 or request.kind == "grant":
        details = document.get("details") or {}
        error = (document.get("reason"), str(sorted(details.items())))
        return answer.status, _sorted(answer.message), *error
    return (answer.status,)


def _sorted(message: str) -> str:
    """A message whose lists of problems are in alphabetical order."""
    return re.sub(
        r"\[((?:[^\[\]]* not found(?:, )?)+)\]",
        lambda match: f"[{', '.join(sorted(match[1].split(', ')))}]",
        message,
    )
