"""What upstream's managers asked an extension, and what came of its answers (`ext-life`), is what
happens here: the same hooks in the same order with the same requests, and the same objects."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, Final

from kapy.kube import Document, yaml
from kapy.kube.names import CONFIG_MAPS, NAMESPACES, SECRETS
from kapy.testing.story import Story
from tests.hooks.extension import Extension, Network
from tests.oracle.recorded import data
from tests.stories.plane import own_kinds
from tests.stories.recorded import Player, Recorded, differences
from tests.stories.test_extensions import discovered, running_with

CALLS: Final = data("oracle/extension")
FORCED: Final = 2
"""How often the recorder had each hook that may wait do so."""


@cache
def recorded_calls() -> list[Document]:
    """The calls of the story, as they were recorded; a fifth is held out."""
    with gzip.open(CALLS / "calls.jsonl.gz", "rt") as lines:
        return [one for one in map(json.loads, lines) if one["session"] == "ext-life"]


@cache
def discovery_cases() -> dict[str, Document]:
    cases = yaml.load_all((CALLS / "discovery.yaml").read_text())
    return {one["case"]: one for one in cases}


class Replayed(Extension):
    """Answers as upstream's test extension did; what depends on the request is computed."""

    def __init__(self) -> None:
        config = discovery_cases()["discovered"]["extension_config"]
        answers = {one["hook"]: one["response"] for one in recorded_calls() if one["code"] == 200}
        super().__init__()
        self.waits = dict.fromkeys(answers, FORCED)
        self.failing_until = 0.0
        for one in config["status"]["handlers"]:
            hook = one["requestHook"]["hook"]
            name = one["name"].removesuffix(".rec")
            self.handlers[name] = hook, self._answering(hook.lower(), answers)

    def _answering(self, hook: str, answers: dict[str, Any]) -> Any:
        def answer(request: Document) -> Document:
            if hook == "generatepatches":
                return self._patches(request)
            waiting = [one for one in recorded_calls() if one["hook"] == hook and one["overridden"]]
            if waiting and self.waits[hook]:
                self.waits[hook] -= 1
                return dict(waiting[0]["response"])
            if hook == "discovervariables":
                return dict(answers[hook])
            if hook == "generateupgradeplan":
                return plan(request)
            return {}

        return answer

    def _patches(self, request: Document) -> Document:
        if asyncio.get_running_loop().time() < self.failing_until:
            return {"status": "Failure", "message": "patches not available"}
        return {"items": [patched(one) for one in request["items"]]}


def plan(request: Document) -> Document:
    """The versions after the one that the control plane has."""
    chain = ["v1.33.0", "v1.34.8", "v1.35.0"]
    ahead = chain[chain.index(request["fromControlPlaneKubernetesVersion"]) + 1 :]
    return {"controlPlaneUpgrades": [{"version": one} for one in ahead]}


@cache
def recorded_patches() -> dict[tuple[str, str], str]:
    """A patch for each place, as text."""
    found = {}
    for call in recorded_calls():
        if call["hook"] == "generatepatches" and call["response"].get("items"):
            places = {one["uid"]: place(one) for one in call["request"]["items"]}
            for one in call["response"]["items"]:
                found[places[one["uid"]]] = base64.b64decode(one["patch"]).decode()
    return found


def place(item: Document) -> tuple[str, str]:
    holder = item["holderReference"]
    return holder["kind"], holder["fieldPath"]


def patched(item: Document) -> Document:
    text = recorded_patches()[place(item)]
    for variable in item.get("variables") or ():
        if variable["name"] == "builtin" and "controlPlane" in variable["value"]:
            version = variable["value"]["controlPlane"].get("version", "")
            text = re.sub(r"kubernetesVersion=v[\d.]+", f"kubernetesVersion={version}", text)
    encoded = base64.b64encode(text.encode()).decode()
    return {"uid": item["uid"], "patchType": "JSONPatch", "patch": encoded}


class Forcing(Player):
    """Does what the recorder did to the extension meanwhile."""

    extension: Replayed

    async def step(self, step: Document) -> None:
        if step["do"] == "merge-patch" and "controlPlane" in str(step["body"]):
            self.extension.failing_until = asyncio.get_running_loop().time() + 2
        if step["do"] == "snapshot" and ("blocked" in step["label"] or "failed" in step["label"]):
            await asyncio.sleep(1)
        await super().step(step)


ELSEWHERE: Final = {
    "canupdatemachineset": "updates in place are not asked about",
    "discovery": "tests/core/extensionconfig",
    "generatepatches": "answers to the same request count again",
    "validatetopology": "answers to the same request count again",
}
"""Hooks whose calls are not compared, and why."""


def told(request: Document) -> str:
    """What of a request tells the steps of an upgrade apart."""
    fields = (f"{key}={request[key]}" for key in request if key.endswith("ubernetesVersion"))
    return " ".join(sorted(fields))


def in_order(calls: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The steps that are compared; repeats are one."""
    compared = [one for one in calls if one[0] not in ELSEWHERE]
    return [one for one, before in zip(compared, [None, *compared], strict=False) if one != before]


def recorded_order() -> Iterator[tuple[str, str]]:
    """Hook, and what tells its request apart, of all calls of the story."""
    text = (CALLS / "sequence.txt").read_text().partition("## session ext-inplace")[0]
    for line in text.splitlines():
        found = re.match(r"\s*[\d.]+s  (\w+) +(.*?) *->", line)
        if found is not None:
            facts = (one for one in found[2].split() if "ubernetesVersion=" in one)
            yield found[1], " ".join(sorted(facts))


@asynccontextmanager
async def life() -> AsyncIterator[Forcing]:
    recorded, replayed, kinds = Recorded.read("ext-life"), Replayed(), own_kinds()
    async with running_with(Network(**{"127.0.0.1": replayed})) as plane:
        story = Story(plane.client, [*kinds, NAMESPACES, SECRETS, CONFIG_MAPS])
        config = discovery_cases()["discovered"]["extension_config"]
        spec = {**config["spec"], "clientConfig": {"url": "https://127.0.0.1:9443"}}
        metadata = {"name": config["metadata"]["name"]}
        own = {**config, "metadata": metadata, "spec": spec, "status": {}}
        await story.create([own])
        await discovered(story, "rec")
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": recorded.name}}
        await story.create([namespace])
        player = Forcing(
            story, kinds, recorded.name, plane.runtime.clock, plane.connections, recorded.stages
        )
        player.extension = replayed
        await player.play(recorded.steps)
        yield player


async def test_a_life_with_extensions_goes_as_it_was_recorded() -> None:
    """The story ends its clusters itself; what was asked is looked at afterwards."""
    async with life() as played:
        pass
    handlers = played.extension.handlers
    calls = [
        (handlers[one.handler][0].lower(), one.request)
        for one in played.extension.asked
        if one.handler in handlers
    ]
    order = in_order((hook, told(request)) for hook, request in calls)
    assert order == in_order(recorded_order())
    keys = {(one["hook"], told(one["request"])): sorted(one["request"]) for one in recorded_calls()}
    for hook, request in calls:
        assert keys.get((hook, told(request)), sorted(request)) == sorted(request)
    recorded = Recorded.read("ext-life")
    found = [
        said
        for stage, objects in played.stages.items()
        for line in differences(recorded.stages[stage], objects)
        if not any(re.search(allowed, said := f"{stage}: {line}") for allowed in OTHERWISE)
    ]
    assert found == []


OTHERWISE: Final = {
    r"ConfigMap/.*hookresponses": "upstream's test extension writes down what it answers",
    r"ExtensionConfig/rec": "it was not recorded with the namespace",
    r"controlPlaneEndpoint|apiServerEndpoint": "an own loopback address for each cluster",
    r"\.status\.selector: .*machine-template-hash": "the hash of a template is not upstream's",
    r"^blocked-create: Cluster/life: .*(InternalError|check controller logs|Unknown.*became)": (
        "upstream counts no machines before there is a topology"
    ),
    r"^blocked-create: Cluster/life: .*Available.message": "the same",
    r"^(upgraded|generate-.*): Cluster/life: .*(upgrade-step|Available.message)": (
        "upstream has not yet told that the last hook has been asked"
    ),
    r"^generate-patches-failed: Cluster/life: .*message": "the sentence names the class, too",
}
"""What may differ, and why."""
