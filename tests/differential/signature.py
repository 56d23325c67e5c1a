"""The class of a difference: the same text for all that have one cause, as far as one can."""

from __future__ import annotations

import re
from typing import Final

from tests.differential.case import Json, Step
from tests.differential.playing import differences

_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\\"(?:[^"\\]|\\[^"])*\\"')
_SYMBOL: Final = re.compile(r"\$\{[^}]*\}")
_NUMBER: Final = re.compile(r"\d+")
_INDEX: Final = re.compile(r"/\d+")
LONGEST: Final = 160


def signature(step: Step, expected: Json, actual: Json) -> str:
    """The class of a difference."""
    if "collect" in step:
        return f"watch {_of_events(expected, actual)}"
    place = _place(step)
    if expected.get("status") != actual.get("status"):
        return f"{place}: {_told(expected)} ≠ {_told(actual)}"
    if _message(expected) != _message(actual):
        return f"{place}: {_told(expected)} ≠ {_told(actual)}"
    line = differences(expected, actual)[0]
    return f"{place}: {_general(line)}"


def _of_events(expected: Json, actual: Json) -> str:
    events, other = expected["events"], actual["events"]
    if len(events) != len(other):
        return f"types {_types(events)} ≠ {_types(other)}"
    return _general(differences(expected, actual)[0])


def _types(events: list[Json]) -> str:
    return ",".join(str(event.get("type")) for event in events)


def _place(step: Step) -> str:
    if "request" not in step:
        return next(iter(step)).upper()
    request = step["request"]
    media = request.get("headers", {}).get("Content-Type", "").split("/")[-1].split("-patch")[0]
    parts = request["path"].strip("/").split("/")
    last = parts[-1] if parts[-1] in ("status", "scale") else ""
    return " ".join(filter(None, (request["method"], media, last)))


def _message(answer: Json) -> str:
    body = answer.get("body")
    message = body.get("message", "") if isinstance(body, dict) else ""
    return message if isinstance(message, str) else ""


def _told(answer: Json) -> str:
    return f"{answer.get('status')} {_general(_message(answer))}".strip()


def _general(text: str) -> str:
    text = _SYMBOL.sub("V", text)
    text = _QUOTED.sub('"…"', text)
    text = _INDEX.sub("/*", text)
    text = " ".join(_NUMBER.sub("N", text).split())
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"
