"""The server of webhooks that generated cases ask: admission, and conversion that goes wrong."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from typing import Final

from tests.data.apiserver.webhooks import WebhookHandler, Webhooks
from tests.differential.case import Json


class Hooks(Webhooks):
    """An HTTPS server on 127.0.0.1. An answer with `conversion` converts (see `review_of`)."""

    def __init__(self) -> None:
        super().__init__()
        self.RequestHandlerClass = HookHandler


class HookHandler(WebhookHandler):
    """Answers one review after the other."""

    def do_POST(self) -> None:  # noqa: N802
        """Answer a review by the path's answer of now."""
        answer = self.server.answers.get(self.path.split("?")[0], {})
        if "conversion" not in answer:
            super().do_POST()
            return
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        result = review_of(review, answer["conversion"])
        body = json.dumps(result, sort_keys=True, separators=(",", ":")).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def review_of(review: Json, rule: Mapping[str, Json]) -> Json:
    """The answer to a ConversionReview.

    rule: `rename` has the names of fields by version; `wrong` names what goes wrong (`WRONG`), with
    `with` as its argument; `only`: when this version is wanted.
    """
    request = review["request"]
    wanted = request["desiredAPIVersion"]
    objects = [converted(obj, wanted, rule.get("rename", ())) for obj in request["objects"]]
    result: Json = {
        "uid": request["uid"],
        "result": {"status": "Success"},
        "convertedObjects": objects,
    }
    whole = {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": result}
    if "wrong" in rule and rule.get("only", wanted) == wanted:
        WRONG[rule["wrong"]](whole, rule.get("with"))
    return whole


def converted(value: Json, wanted: str, renames: Json) -> Json:
    """An object in another version: fields of spec and status have other names there."""
    value = copy.deepcopy(value)
    version = wanted.split("/")[1]
    for names in renames:
        for part in ("spec", "status"):
            fields = value.get(part)
            there = isinstance(fields, dict) and [n for n in names.values() if n in fields]
            if there and there[0] != names[version]:
                fields[names[version]] = fields.pop(there[0])
    return {**value, "apiVersion": wanted}


def _each(change: Callable[[Json, Json], object]) -> Callable[[Json, Json], None]:
    """Change every object."""

    def changed(whole: Json, value: Json) -> None:
        for obj in whole["response"]["convertedObjects"]:
            change(obj, value)

    return changed


def _objects(change: Callable[[list[Json], Json], Json]) -> Callable[[Json, Json], None]:
    """Replace the list of objects."""

    def changed(whole: Json, value: Json) -> None:
        whole["response"]["convertedObjects"] = change(whole["response"]["convertedObjects"], value)

    return changed


def _without(name: str) -> Callable[[Json, Json], object]:
    return lambda item, value: item.pop(name, None)


WRONG: Final[Mapping[str, Callable[[Json, Json], object]]] = {
    "metadata": _each(lambda item, value: item.setdefault("metadata", {}).update(value)),
    "no metadata": _each(_without("metadata")),
    "metadata is": _each(lambda item, value: item.update(metadata=value)),
    "lost": _each(lambda item, value: item.get("metadata", {}).pop(value, None)),
    "object": _each(lambda item, value: item.update(copy.deepcopy(value))),
    "spec": _each(lambda item, value: item.setdefault("spec", {}).update(copy.deepcopy(value))),
    "no kind": _each(_without("kind")),
    "no version": _each(_without("apiVersion")),
    "reversed": _objects(lambda all_, value: all_[::-1]),
    "one less": _objects(lambda all_, value: all_[:-1]),
    "one more": _objects(lambda all_, value: [*all_, *all_[:1]]),
    "objects": _objects(lambda all_, value: value),
    "each is": _objects(lambda all_, value: [value for _ in all_]),
    "response": lambda whole, value: whole["response"].update(value),
    "review": lambda whole, value: whole.update(value),
    "nothing": lambda whole, value: whole.clear(),
}
"""Faults of a conversion, each of which changes the whole answer. value: the rule's `with`."""
