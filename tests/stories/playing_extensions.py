"""Plays a recorded story with an extension that answers as upstream's test extension did."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from kapy.apps.settings import EMBEDDED_GATES, ControllerConfig, Settings
from kapy.engine.options import ManagerOptions
from kapy.kube import Document
from kapy.kube.names import CONFIG_MAPS, NAMESPACES, SECRETS
from kapy.testing.story import Story
from tests.hooks.extension import Extension, Network
from tests.oracle.topic import compared
from tests.stories.plane import own_kinds
from tests.stories.playing import namespace_of
from tests.stories.recorded import Player, Recorded, unexplained
from tests.stories.recorded_calls import NAME, Session, plain, without_repeats
from tests.stories.test_extensions import OPEN, discovered, running_with

FORCED: Final = 2
"""The number of times that the recorder had each blocking hook ask for a retry."""
LASTS: Final = 20
"""Seconds that upstream's test extension takes to update a Machine."""
IN_PLACE: Final = ("canupdatemachine", "canupdatemachineset", "updatemachine")
_GATES: Final = replace(EMBEDDED_GATES, runtime_sdk=True, in_place_updates=True)
_WITH_UPDATES: Final = Settings(controllers=ControllerConfig(manager=ManagerOptions(gates=_GATES)))

ELSEWHERE: Final = {
    "canupdatemachineset": "updates in place are not asked about",
    "discovery": "tests/core/extensionconfig",
    "generatepatches": "the number of topology reconciles is not upstream's",
    "validatetopology": "the number of topology reconciles is not upstream's",
}
"""Hooks of a life whose calls are not compared, and why."""

OTHERWISE: Final = {
    r"ConfigMap/.*hookresponses": "upstream's test extension writes down what it answers",
    r"ExtensionConfig/rec": "it was not recorded with the namespace",
    r"controlPlaneEndpoint|apiServerEndpoint": "an own loopback address for each cluster",
    r"\.status\.selector: .*machine-template-hash": "the hash of a template is not upstream's",
}
"""Allowed differences in every story with an extension, and the reason for each."""

OTHERWISE_IN_A_LIFE: Final = {
    r"^blocked-create: Cluster/life: .*(InternalError|check controller logs|Unknown.*became)": (
        "upstream counts no machines before there is a topology"
    ),
    r"^blocked-create: Cluster/life: .*Available.message": "the same",
    r"^(upgraded|generate-.*): Cluster/life: .*(upgrade-step|Available.message)": (
        "upstream has not yet told that the last hook has been asked"
    ),
    r"^generate-patches-failed: Cluster/life: .*message": "the sentence names the class, too",
}
"""More allowed differences in `ext-life`."""


@dataclass(frozen=True)
class Played:
    """The results of a story. endings: the differences from the recording, by stage. asked: the
    calls of the extension, as hook and request."""

    session: Session
    endings: dict[str, list[str]]
    asked: Sequence[tuple[str, Document]]

    @property
    def order(self) -> list[str]:
        """The calls that are compared, in their order; repeats are one."""
        return without_repeats(
            told(hook, request) for hook, request in self.asked if _is_compared(self.session, hook)
        )

    @property
    def recorded_order(self) -> list[str]:
        """The same of the recording."""
        matches = re.findall(r"^\s*[\d.]+s  (\w+) +(.*?) *->", self.session.sequence, re.MULTILINE)
        return without_repeats(
            " ".join((hook, *sorted(part for part in facts.split() if "ubernetesVersion=" in part)))
            for hook, facts in matches
            if _is_compared(self.session, hook)
        )

    def requests(self) -> dict[str, list[str]]:
        """By call, what of its request is not as it was recorded.

        A request of a life has the same fields. Of updates in place the first request of each hook
        is among those that were made: whichever Machine comes first here.
        """
        if is_in_place(self.session):
            return {hook: list(self._first(hook)) for hook in IN_PLACE}
        recorded = {
            told(document["hook"], document["request"]): document["request"]
            for document in self.session.calls
        }
        results: dict[str, list[str]] = {
            text: [] for text in recorded if text.split()[0] not in ELSEWHERE
        }
        for hook, request in self.asked:
            call = told(hook, request)
            wanted = sorted(recorded.get(call, request))
            if wanted != sorted(request):
                results.setdefault(call, []).append(f"has {sorted(request)}, recorded {wanted}")
        return results

    def _first(self, hook: str) -> Iterator[str]:
        first = plain(next(call["request"] for call in self.session.calls if call["hook"] == hook))
        requests = [plain(request) for of, request in self.asked if of == hook]
        if first not in requests:
            yield f"none of {len(requests)} requests is as the first one that was recorded"
            yield from compared(first, requests[0] if requests else None)


def is_in_place(session: Session) -> bool:
    """Whether Machines are updated in place in the story."""
    return any(call["hook"] == "updatemachine" for call in session.calls)


def _is_compared(session: Session, hook: str) -> bool:
    return hook in IN_PLACE if is_in_place(session) else hook not in ELSEWHERE


def told(hook: str, request: Document) -> str:
    """A call, with what of its request tells the steps of an upgrade apart."""
    fields = (f"{key}={request[key]}" for key in request if key.endswith("ubernetesVersion"))
    return " ".join((hook, *sorted(fields)))


async def played(recorded: Recorded, session: Session) -> Played:
    """Play a story to its end."""
    in_place, kinds = is_in_place(session), own_kinds()
    extension = Updating(session) if in_place else Answering(session)
    settings = _WITH_UPDATES if in_place else OPEN
    async with running_with(Network(**{"127.0.0.1": extension}), settings) as plane:
        story = Story(plane.client, [*kinds, NAMESPACES, SECRETS, CONFIG_MAPS])
        await story.create([session.config])
        await discovered(story, NAME)
        await story.create([namespace_of(recorded)])
        clock, connections = plane.runtime.clock, plane.cluster_cache
        player = Attentive(story, kinds, recorded.name, clock, connections, recorded.stages)
        player.extension = extension
        await player.play(recorded.steps)
    explained = OTHERWISE if in_place else OTHERWISE | OTHERWISE_IN_A_LIFE
    request = [
        (extension.handlers[entry.handler][0].lower(), entry.request)
        for entry in extension.asked
        if entry.handler in extension.handlers
    ]
    return Played(session, unexplained(recorded, player.stages, explained), request)


class Answering(Extension):
    """Answers as upstream's test extension did; what depends on the request is computed."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._calls = session.calls
        answers = {call["hook"]: call["response"] for call in self._calls if call["code"] == 200}
        self.waits = dict.fromkeys(answers, FORCED)
        self.failing_until = 0.0
        for handler in session.handlers:
            hook = handler["requestHook"]["hook"]
            name = handler["name"].removesuffix(f".{NAME}")
            self.handlers[name] = hook, self._answering(hook.lower(), answers)

    def _answering(self, hook: str, answers: dict[str, Any]) -> Any:
        def answer(request: Document) -> Document:
            if hook == "generatepatches":
                return self._patches(request)
            waiting = [call for call in self._calls if call["hook"] == hook and call["overridden"]]
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
        return {"items": [self._patched(item) for item in request["items"]]}

    def _patched(self, item: Document) -> Document:
        text = self._recorded_patches[_place(item)]
        for variable in item.get("variables") or ():
            if variable["name"] == "builtin" and "controlPlane" in variable["value"]:
                version = variable["value"]["controlPlane"].get("version", "")
                text = re.sub(r"kubernetesVersion=v[\d.]+", f"kubernetesVersion={version}", text)
        encoded = base64.b64encode(text.encode()).decode()
        return {"uid": item["uid"], "patchType": "JSONPatch", "patch": encoded}

    @cached_property
    def _recorded_patches(self) -> dict[tuple[str, str], str]:
        """A patch for each place, as text."""
        patches = {}
        for call in self._calls:
            if call["hook"] == "generatepatches" and call["response"].get("items"):
                places = {element["uid"]: _place(element) for element in call["request"]["items"]}
                for item in call["response"]["items"]:
                    patches[places[item["uid"]]] = base64.b64decode(item["patch"]).decode()
        return patches


def plan(request: Document) -> Document:
    """The versions after the one that the control plane has."""
    chain = ["v1.33.0", "v1.34.8", "v1.35.0"]
    ahead = chain[chain.index(request["fromControlPlaneKubernetesVersion"]) + 1 :]
    return {"controlPlaneUpgrades": [{"version": text} for text in ahead]}


def _place(item: Document) -> tuple[str, str]:
    holder = item["holderReference"]
    return holder["kind"], holder["fieldPath"]


class Updating(Extension):
    """Upstream's test extension, with the answers that the recorder forced upon it."""

    def __init__(self, session: Session) -> None:
        super().__init__(
            can_update_machine=("CanUpdateMachine", self._can_update),
            can_update_machineset=("CanUpdateMachineSet", self._can_update_set),
            update_machine=("UpdateMachine", self._update),
        )
        self._calls = session.calls
        self.forced = [
            call["response"]
            for call in self._calls
            if call["hook"] == "updatemachine" and call["overridden"]
        ]
        self.began: dict[str, float] = {}

    def _can_update(self, request: Document) -> Document:
        files = request["desired"]["bootstrapConfig"]["spec"]["files"]
        return next(
            call["response"]
            for call in self._calls
            if call["hook"] == "canupdatemachine"
            and call["request"]["desired"]["bootstrapConfig"]["spec"]["files"] == files
        )

    def _can_update_set(self, request: Document) -> Document:
        domain = request["desired"]["machineSet"]["spec"]["template"]["spec"].get("failureDomain")
        if request["current"]["machineSet"]["spec"]["template"]["spec"].get("failureDomain") == (
            domain
        ):
            return {}  # it is another template, of which it can do nothing
        return next(
            call["response"] for call in self._calls if call["hook"] == "canupdatemachineset"
        )

    def _update(self, request: Document) -> Document:
        """Return the forced answers first. Two of them say that the update is not done (a third one
        is held out). After another change of files, one says that the disk is full."""
        content = request["desired"]["bootstrapConfig"]["spec"]["files"][0]["content"]
        fails = self.forced and self.forced[0].get("status") == "Failure"
        if self.forced and fails == (content == "2"):
            return dict(self.forced.pop(0))
        now, name = asyncio.get_running_loop().time(), request["desired"]["machine"]["metadata"]
        began = self.began.setdefault(f"{name['name']}/{content}", now)
        if now - began < LASTS:
            return {"retryAfterSeconds": 5, "message": "Extension is updating Machine"}
        return {"message": "Extension completed updating Machine"}


class Attentive(Player):
    """Does what the recorder did to the extension, and looks when the recorder looked."""

    extension: Extension

    async def step(self, step: Document) -> None:
        label = step["label"] if step["do"] == "snapshot" else ""
        if label in ("kcp-updating", "kcp-update-failed"):
            await asyncio.sleep(2)
        if isinstance(self.extension, Answering):
            if step["do"] == "merge-patch" and "controlPlane" in str(step["body"]):
                self.extension.failing_until = asyncio.get_running_loop().time() + 2
            if "blocked" in label or "failed" in label:
                await asyncio.sleep(1)
        await super().step(step)
