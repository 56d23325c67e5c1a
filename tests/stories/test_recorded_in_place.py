"""What upstream's managers asked an extension that updates Machines in place, and what came of its
answers (`ext-inplace`), is what happens here: the same questions in the same order, with the same
bodies, and the same objects at every stage."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Final

from kapy.apps.settings import EMBEDDED_GATES, Controlling, Settings
from kapy.engine.options import ManagerOptions
from kapy.kube import Document
from kapy.kube.names import CONFIG_MAPS, NAMESPACES, SECRETS
from kapy.testing.story import Story
from tests.hooks.extension import Extension, Network
from tests.stories.plane import own_kinds
from tests.stories.recorded import Player, Recorded, differences
from tests.stories.test_extensions import discovered, running_with
from tests.stories.test_recorded_extensions import CALLS, discovery_cases

GATES: Final = replace(EMBEDDED_GATES, runtime_sdk=True, in_place_updates=True)
IN_PLACE: Final = Settings(controlling=Controlling(manager=ManagerOptions(gates=GATES)))
HOOKS: Final = ("canupdatemachine", "canupdatemachineset", "updatemachine")
LASTS: Final = 20
"""Seconds that upstream's test extension takes for a Machine."""


@cache
def recorded_calls() -> list[Document]:
    """The calls of the story, as they were recorded; a fifth is held out."""
    with gzip.open(CALLS / "calls.jsonl.gz", "rt") as lines:
        return [one for one in map(json.loads, lines) if one["session"] == "ext-inplace"]


class Updating(Extension):
    """Upstream's test extension, with the answers that the recorder forced upon it."""

    def __init__(self) -> None:
        super().__init__(
            can_update_machine=("CanUpdateMachine", self._can_update),
            can_update_machineset=("CanUpdateMachineSet", self._can_update_set),
            update_machine=("UpdateMachine", self._update),
        )
        self.forced = [
            one["response"]
            for one in recorded_calls()
            if one["hook"] == "updatemachine" and one["overridden"]
        ]
        self.began: dict[str, float] = {}

    def _can_update(self, request: Document) -> Document:
        files = request["desired"]["bootstrapConfig"]["spec"]["files"]
        return next(
            one["response"]
            for one in recorded_calls()
            if one["hook"] == "canupdatemachine"
            and one["request"]["desired"]["bootstrapConfig"]["spec"]["files"] == files
        )

    def _can_update_set(self, request: Document) -> Document:
        domain = request["desired"]["machineSet"]["spec"]["template"]["spec"].get("failureDomain")
        if request["current"]["machineSet"]["spec"]["template"]["spec"].get("failureDomain") == (
            domain
        ):
            return {}  # it is another template, of which it can do nothing
        return next(
            one["response"] for one in recorded_calls() if one["hook"] == "canupdatemachineset"
        )

    def _update(self, request: Document) -> Document:
        """What was forced came first: twice that it is not done (a third time is held out), and
        that the disk is full when files were changed again."""
        content = request["desired"]["bootstrapConfig"]["spec"]["files"][0]["content"]
        fails = self.forced and self.forced[0].get("status") == "Failure"
        if self.forced and fails == (content == "2"):
            return dict(self.forced.pop(0))
        now, name = asyncio.get_running_loop().time(), request["desired"]["machine"]["metadata"]
        began = self.began.setdefault(f"{name['name']}/{content}", now)
        if now - began < LASTS:
            return {"retryAfterSeconds": 5, "message": "Extension is updating Machine"}
        return {"message": "Extension completed updating Machine"}


class Waiting(Player):
    """Looks when the recorder looked: while a Machine is being updated."""

    async def step(self, step: Document) -> None:
        if step["do"] == "snapshot" and step["label"] in ("kcp-updating", "kcp-update-failed"):
            await asyncio.sleep(2)
        await super().step(step)


def recorded_order() -> list[str]:
    text = (CALLS / "sequence.txt").read_text().partition("## session ext-inplace")[2]
    found = re.findall(r"^ +[\d.]+s  (\w+) ", text, re.MULTILINE)
    return without_repeats(hook for hook in found if hook in HOOKS)


def without_repeats(hooks: Iterable[str]) -> list[str]:
    kept: list[str] = []
    for one in hooks:
        if not kept or kept[-1] != one:
            kept.append(one)
    return kept


def plain(request: Document) -> Document:
    """A request without what tells this run from another one."""
    text = re.sub(r"\$\{(\w+):\d+\}", r"<\1>", json.dumps(request))
    text = re.sub(r"\d{6,}-[bcdfghjklmnpqrstvwxz2456789]{5}(?=\")", "<hash>", text)
    text = re.sub(r"-[bcdfghjklmnpqrstvwxz2456789]{5}(?=[\"/])", "-<rand>", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "<time>", text)
    found: Document = json.loads(re.sub(r"127\.[\d.]+:(\d+|<port>)", "<endpoint>", text))
    return found


async def test_machines_are_updated_in_place_as_it_was_recorded() -> None:
    recorded, extension, kinds = Recorded.read("ext-inplace"), Updating(), own_kinds()
    async with running_with(Network(**{"127.0.0.1": extension}), IN_PLACE) as plane:
        story = Story(plane.client, [*kinds, NAMESPACES, SECRETS, CONFIG_MAPS])
        config = discovery_cases()["discovered"]["extension_config"]
        spec = {**config["spec"], "clientConfig": {"url": "https://127.0.0.1:9443"}}
        await story.create(
            [
                {**config, "metadata": {"name": "rec"}, "spec": spec, "status": {}},
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": recorded.name}},
            ]
        )
        await discovered(story, "rec")
        player = Waiting(
            story, kinds, recorded.name, plane.runtime.clock, plane.connections, recorded.stages
        )
        await player.play(recorded.steps)
    asked = [one for one in extension.asked if one.handler != "discovery"]
    order = [extension.handlers[one.handler][0].lower() for one in asked]
    assert without_repeats(order) == recorded_order()
    found = [
        said
        for stage, objects in player.stages.items()
        for line in differences(recorded.stages[stage], objects)
        if not any(re.search(allowed, said := f"{stage}: {line}") for allowed in OTHERWISE)
    ]
    assert found == []
    for hook in HOOKS:  # whichever Machine comes first here
        want = next(one["request"] for one in recorded_calls() if one["hook"] == hook)
        given = [one.request for one, of in zip(asked, order, strict=True) if of == hook]
        assert plain(want) in map(plain, given)


OTHERWISE: Final = {
    r"ConfigMap/.*hookresponses": "upstream's test extension writes down what it answers",
    r"ExtensionConfig/rec": "it was not recorded with the namespace",
    r"controlPlaneEndpoint|apiServerEndpoint": "an own loopback address for each cluster",
    r"\.status\.selector: .*machine-template-hash": "the hash of a template is not upstream's",
}
"""What may differ, and why."""
