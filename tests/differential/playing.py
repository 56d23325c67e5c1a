"""One case played on one server, and what came back with symbols for all that is volatile."""

from __future__ import annotations

import asyncio
import copy
import importlib
import json
import re
from typing import Any

from tests.differential.case import Case, Json, Step
from tests.differential.peers import Opened, Peer

_normalise: Any = importlib.import_module("tests.data.apiserver.normalise")
_compare: Any = importlib.import_module("tests.data.apiserver.compare")

INITIAL_END = "k8s.io/initial-events-end"
PAUSE = 0.05
PREPARING = 10
"""Tries, a second between two: as the answer's Retry-After says."""
_CURRENT = re.compile(r"current: (\$\{rv:\w+\}|\d+)")
_IN_YAML = re.compile(r'resourceVersion: "?(\d+|\$\{[^}]*rv[^}]*\})"?')
_CONTINUE = re.compile(r"continue: ey[\w-]+")
_TYPE = re.compile(r"selfType\d+(?:\.[@\w]+)*")
_KEY = re.compile(r"Key: /(registry/)?")
_ADDRESS = re.compile(r'(clusterIPs?[\\"]+:\[?[\\"]+)10\.[0-9.]+')
_GIVEN = re.compile(r'(IPAddress\.networking\.k8s\.io \\*")10\.[0-9.]+')
_PORT = re.compile(r'(nodePort[\\"]+:)3[0-2][0-9]{3}')
_CELL_ADDRESS = re.compile(r"^10\.(?:9[6-9]|[0-9]|1[01][0-9])\.[0-9]+\.[0-9]+$")
_CELL_PORT = re.compile(r"(\d:)3[0-2][0-9]{3}(?=/)")
_SUFFIX = "[bcdfghjklmnpqrstvwxz2456789]{5}"
_WORD = re.compile(r"\$\{([^}]+)\}")


def at(node: Json, pointer: str) -> Json:
    """The value at a JSON pointer, None where there is none."""
    return _compare.at(node, pointer)


def differences(expected: Json, actual: Json) -> list[str]:
    """One line for each place where two answers differ."""
    return list(_compare.differences(_comparable(expected), _comparable(actual)))


def _comparable(answer: Json) -> Json:
    """An answer in YAML without resourceVersions, for which texts have no symbols; a message with
    the errors of its causes in order, of which it has each only once; a Table without what its
    columns are about, which is told in sentences of our own."""
    body = answer.get("body")
    if isinstance(body, str):
        body = _CONTINUE.sub("continue: ${continue}", _CURRENT.sub("current: ${rv:other}", body))
        return {**answer, "body": _IN_YAML.sub("resourceVersion: ${rv}", body)}
    columns = body.get("columnDefinitions") if isinstance(body, dict) else None
    if isinstance(columns, list):
        plain = [{key: column[key] for key in column if key != "description"} for column in columns]
        return {**answer, "body": {**body, "columnDefinitions": plain}}
    if not isinstance(body, dict) or not isinstance(body.get("message"), str):
        return answer
    causes = (body.get("details") or {}).get("causes") or ()
    texts = sorted({f"{cause.get('field')}: {cause.get('message')}" for cause in causes})
    head, bracket, tail = body["message"].partition(": [")
    if not bracket or len(tail) != len(", ".join(texts)) + 1:
        return answer
    if not all(text in tail for text in texts):
        return answer
    return {**answer, "body": {**body, "message": f"{head}: [{', '.join(texts)}]"}}


class Play:
    """One run of a case. words: what stands for the run. counts: events by step, where known."""

    def __init__(
        self,
        case: Case,
        peer: Peer,
        word: str,
        *,
        counts: dict[int, int] | None = None,
        hooks: Any = None,
    ) -> None:
        self._case, self._peer, self._counts, self._hooks = case, peer, counts, hooks
        self._words = {"ns": f"ns-{word}", "u": word}
        self._saved: dict[str, Json] = {}
        self._hooked = f"/{word}-{id(peer)}"
        if hooks is not None:
            host = f"127.0.0.1:{hooks.server_port}"
            root = f"https://{host}{self._hooked}"
            self._words |= {"webhook": root, "webhookhost": host, "ca": hooks.ca}
            for name, answer in self._filled(case.get("webhooks", {})).items():
                hooks.answers[f"{self._hooked}/{name}"] = answer
        self.seen: dict[int, int] = {}
        self._watches: dict[str, Opened] = {}

    async def run(self) -> list[Json]:
        """The answers to all steps, normalised."""
        setup, steps = self._case.get("setup", []), self._case["steps"]
        if self._case.get("namespace", True):
            name = {"name": self._words["ns"]}
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": name}
            await self._peer.call({"method": "POST", "path": "/api/v1/namespaces", "body": body})
        try:
            results = [await self._tried(n, step) for n, step in enumerate([*setup, *steps])]
        finally:
            for opened in self._watches.values():
                opened.leave()
        entries = [
            [{k: v for k, v in s.items() if k != "response"} for s in p] for p in (setup, steps)
        ]
        symbols = _normalise.Symbols(json.dumps(entries), self._words, results)
        pairs = zip(steps, results[len(setup) :], strict=True)
        return [
            _compare.trim(step, _of_now(symbols.apply(result), _generated(step)))
            for step, result in pairs
        ]

    def _filled(self, node: Json) -> Json:
        """A part of a case with the run's words in it."""
        if isinstance(node, dict):
            return {self._filled(key): self._filled(value) for key, value in node.items()}
        if isinstance(node, list):
            return [self._filled(item) for item in node]
        if not isinstance(node, str) or "${" not in node:
            return node
        values = {**self._words, **self._saved}
        if (whole := _WORD.fullmatch(node)) and whole[1] in values:
            return values[whole[1]]
        return _WORD.sub(lambda match: str(values.get(match[1], match[0])), node)

    async def _tried(self, number: int, step: Step) -> Json:
        """The answer to a step; where there is none, what went wrong: that is a difference, too."""
        try:
            return await self._step(number, step)
        except Exception as error:
            return {"status": 0, "body": f"{type(error).__name__}: {error}"}

    async def _step(self, number: int, step: Step) -> Json:
        if "request" in step:
            return await self._request(step)
        if "watch" in step:
            request = dict(self._filled(step["watch"]))
            opened = await self._peer.watch(request)
            name = request.pop("id", "w")
            if name in self._watches:
                self._watches[name].leave()
            self._watches[name] = opened
            return opened.answer
        if "collect" in step:
            return await self._collect(number, step["collect"])
        if "hook" in step:
            path = f"{self._hooked}/{step['hook']}"
            self._hooks.answers[path] = self._filled(step["answer"])
            return {}
        if "calls" in step:
            path = f"{self._hooked}/{step['calls']}"
            return {"received": copy.deepcopy(self._hooks.received.get(path, []))}
        await asyncio.sleep(step["sleep"])
        return {}

    async def _request(self, step: Step) -> Json:
        request, until = self._filled(step["request"]), self._filled(step.get("until", {}))
        attempts = until.get("seconds", 30) / PAUSE
        while True:
            answer = await self._prepared(request)
            if until.get("status", answer["status"]) == answer["status"] and (
                "at" not in until or at(answer["body"], until["at"]) == until.get("value")
            ):
                break
            if attempts <= 0:
                answer["late"] = True
                break
            attempts -= 1
            await asyncio.sleep(PAUSE)
        saved = {word: at(answer["body"], there) for word, there in step.get("save", {}).items()}
        self._saved |= saved
        if "pick" in step:
            _compare.pick(self._filled(step["pick"]), answer["body"])
        return answer

    async def _prepared(self, request: Json) -> Json:
        """The answer to a request, asked again while kube-apiserver prepares a kind anew."""
        for _ in range(PREPARING):
            answer = await self._peer.call(request)
            if answer["status"] != 429 or "(re)initializing" not in str(answer["body"]):
                break
            await asyncio.sleep(1)
        return answer

    async def _collect(self, number: int, spec: Json) -> Json:
        """Return the events of a watch: at least the expected number, and those shortly after."""
        opened = self._watches[spec.get("id", "w")]
        wanted = spec.get("count") if self._counts is None else self._counts.get(number)
        pauses = spec.get("seconds", 2) / PAUSE
        while pauses > 0 and not opened.ended and len(_kept(opened, spec)) < (wanted or 0):
            pauses -= 1
            await asyncio.sleep(PAUSE)
        await asyncio.sleep(PAUSE)
        events = await _settled(opened, spec)
        self.seen[number] = len(events)
        for event in events:
            if event.get("type") == "BOOKMARK":
                rows = (row["object"] for row in event["object"].get("rows") or [])
                for item in (event["object"], *rows):
                    item["metadata"]["resourceVersion"] = "${listrv}"
        return {"events": events} | ({"ended": opened.ended} if spec.get("end") else {})


async def _settled(opened: Opened, spec: Json) -> list[Json]:
    """The events when none came for a moment."""
    events = _kept(opened, spec)
    for _ in range(100):
        await asyncio.sleep(PAUSE)
        before, events = events, _kept(opened, spec)
        if len(events) == len(before):
            break
    return events


def _generated(step: Step) -> re.Pattern[str] | None:
    """The names that a server makes of the generateName of a request."""
    body = step.get("request", {}).get("body")
    meta = body.get("metadata") if isinstance(body, dict) else None
    prefix = meta.get("generateName") if isinstance(meta, dict) else None
    return re.compile(re.escape(prefix[:58]) + _SUFFIX) if isinstance(prefix, str) else None


def _of_now(answer: Json, value: re.Pattern[str] | None) -> Json:
    """An answer without what servers choose and messages tell: see `_told`."""
    for event in answer.get("events", ()):
        if event.get("type") == "ERROR" and isinstance(event["object"].get("message"), str):
            event["object"]["message"] = _told(event["object"]["message"], None)
    body = answer.get("body")
    if isinstance(body, str) and value is not None:
        return {**answer, "body": value.sub("${gen}", body)}
    if isinstance(body, dict) and body.get("kind") == "Table":
        for row in body.get("rows") or ():
            row["cells"] = [_cell(cell) for cell in row["cells"]]
    if not isinstance(body, dict) or not isinstance(body.get("message"), str):
        return answer
    body["message"] = _told(body["message"], value)
    details = body.get("details") or {}
    if isinstance(details.get("name"), str):
        details["name"] = _told(details["name"], value)
    for cause in details.get("causes") or ():
        cause["message"] = _told(str(cause.get("message")), value)
    return answer


def _cell(cell: Json) -> Json:
    """A cell of a Table without the address or the node port that a server chose."""
    if not isinstance(cell, str):
        return cell
    return _CELL_PORT.sub(r"\1${port}", _CELL_ADDRESS.sub("${ip}", cell))


def _told(message: str, value: re.Pattern[str] | None) -> str:
    """A message without the server's present resourceVersion, its addresses and node ports, the
    root of its keys (which kube-apiserver's cache leaves out), the numbers of its types in CEL, and
    a name that it made of a generateName that is wrong."""
    message = _TYPE.sub("object", message)
    message = _KEY.sub("Key: /registry/", message)
    message = _ADDRESS.sub(r"\1${ip}", _CURRENT.sub("current: ${rv:other}", message))
    message = _GIVEN.sub(r"\1${ip}", message)
    message = _PORT.sub(r"\1${port}", message)
    return message if value is None else value.sub("${gen}", message)


def _kept(opened: Opened, spec: Json) -> list[Json]:
    """The events without those that a server sends when it likes."""
    events = [event for event in opened.events if event.get("type") not in spec.get("drop", [])]
    return copy.deepcopy([event for event in events if not _plain_bookmark(event)])


def _plain_bookmark(event: Json) -> bool:
    return event.get("type") == "BOOKMARK" and INITIAL_END not in json.dumps(event)
