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

        async def one(asked: Asked, judge: Judge = judge, limit: asyncio.Semaphore = limit) -> None:
            async with limit:
                answers = [await peer.ask(asked) for peer in peers]
            outcome.pairs[asked.kind] = outcome.pairs.get(asked.kind, 0) + 1
            outcome.allowed += answers[0].status != 403
            outcome.wrong += [f"{asked.told}\n    {why}" for why in judge.judge(asked, answers)]

        requests = draw.requests(world, min(PER_WORLD, count - start))
        await asyncio.gather(*(one(asked) for asked in requests))
    return outcome


async def _prepare(peer: Peer) -> None:
    """Namespaces, and an object that can be found, in each of them; the default roles count."""
    own = Judge(World())
    for subject in (Subject("somebody"), Subject(f"system:serviceaccount:{SPACES[0]}:some")):
        for _ in range(_PATIENCE):
            asked = rules_of(subject, SPACES[0])
            if not own.judge(asked, [await peer.ask(asked)]):
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
    for one in (*world.roles, *world.bindings, *last.roles, *last.bindings):
        space = one["metadata"].get("namespace")
        place = f"/apis/{RBAC}/v1/namespaces/{space}" if space else f"/apis/{RBAC}/v1"
        answer = await peer.ask(admin("POST", f"{place}/{one['kind'].lower()}s", one))
        assert answer.status == 201, (one, answer)
    for space in ("", SPACES[-1]):
        asked = {"verb": f"sentinel{space}", "resource": "x", "namespace": space}
        spec = {"user": f"{tag}-sentinel", "resourceAttributes": asked}
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

    def judge(self, asked: Asked, answers: Sequence[Answer]) -> list[str]:
        """What is wrong with the answers."""
        check = {
            "request": self._request,
            "review": self._review,
            "grant": self._grant,
            "rules": self._rules,
        }[asked.kind]
        judged = [check(asked, one) for one in answers]
        wrong = [f"peer {at}: {why}" for at, why in enumerate(judged) if why]
        first, *others = (_comparable(asked, one) for one in answers)
        wrong += [f"peer 0: {first}\n    another: {one}" for one in others if one != first]
        return wrong

    def _request(self, asked: Asked, answer: Answer) -> str:
        question = question_of(asked.method, asked.target)
        return self._authorized(impersonated(asked.subject), question, asked, answer)

    def _authorized(
        self, subject: Subject, question: Question, asked: Asked, answer: Answer
    ) -> str:
        found = verdict(self._whole, subject, question)
        if found.allowed:
            refused = answer.status == 403 and " cannot " in answer.message
            return f"refused: {answer}, allowed by {set(found.reasons)}" if refused else ""
        if answer.status != 403:
            return f"{answer.status} {answer.message}, but {refusal(subject, question)}"
        if asked.method == "HEAD":
            return ""
        message, _, why = answer.message.partition(": RBAC: ")
        wanted = refusal(subject, question)
        if message != wanted:
            return f"said {message!r}, not {wanted!r}"
        return "" if _listed(why) == found.reasons else f"said {why!r}, not {set(found.reasons)}"

    def _review(self, asked: Asked, answer: Answer) -> str:
        spec = (asked.body or {})["spec"]
        found = verdict(self._world, asked.subject, _question(spec))
        status = answer.review
        reason = status.get("reason", "")
        if status.get("allowed") is not found.allowed:
            return f"{status}, but {found}"
        listed = frozenset(_listed(reason.removeprefix("RBAC: ")))
        right = reason in found.reasons if found.allowed else listed == found.reasons
        return "" if right else f"{status}, but {found}"

    def _grant(self, asked: Asked, answer: Answer) -> str:
        subject = impersonated(asked.subject)
        question = question_of(asked.method, asked.target)
        if not verdict(self._whole, subject, question).allowed:
            return self._authorized(subject, question, asked, answer)
        body, space = asked.body or {}, question.namespace
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

    def _rules(self, asked: Asked, answer: Answer) -> str:
        space = (asked.body or {})["spec"]["namespace"]
        own = held(self._whole, impersonated(asked.subject), space)
        status = answer.review
        told = [*status.get("resourceRules", ()), *status.get("nonResourceRules", ())]
        wanted = sorted(map(_canonical, own))
        return "" if sorted(map(_canonical, told)) == wanted else f"{told}, not {own}"


def _canonical(rule: Document) -> str:
    return str(sorted((key, value) for key, value in rule.items() if value))


def _question(spec: Document) -> Question:
    path = spec.get("nonResourceAttributes")
    if path is not None:
        return Question(path.get("verb", ""), path.get("path", ""))
    asked = spec["resourceAttributes"]
    fields = ("group", "resource", "subresource", "namespace", "name")
    return Question(asked["verb"], None, *(asked.get(one, "") for one in fields))


def _listed(why: str) -> set[str]:
    """The problems in a reason; their order is that of a Go map."""
    text = why.removeprefix("[").removesuffix("]")
    return set(text.split(", ")) if text else set()


def _comparable(asked: Asked, answer: Answer) -> tuple[object, ...]:
    """What must be the same on all servers."""
    document = answer.document or {}
    if asked.kind == "review":
        return answer.status, answer.review.get("allowed")
    if asked.kind == "rules":
        told = answer.review.get("evaluationError", "")
        return answer.status, tuple(sorted(_listed(told)))
    if answer.status != 403 and question_of(asked.method, asked.target).path is not None:
        return ("allowed; what such a page answers to this method is no matter of rights",)
    if answer.status < 300:
        return (answer.status,)
    if answer.status == 403 or asked.kind == "grant":
        details = document.get("details") or {}
        told = (document.get("reason"), str(sorted(details.items())))
        return answer.status, _sorted(answer.message), *told
    return (answer.status,)


def _sorted(message: str) -> str:
    """A message whose lists of problems are in alphabetical order."""
    return re.sub(
        r"\[((?:[^\[\]]* not found(?:, )?)+)\]",
        lambda found: f"[{', '.join(sorted(found[1].split(', ')))}]",
        message,
    )
