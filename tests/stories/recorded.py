"""Plays a recorded upstream story (topic `traces`) on a plane of ours, on virtual time.

Every step of `story.yaml` is done as it was recorded; a `wait` lasts until nothing has been written
for a while; a `snapshot` notes the objects of the namespace in the recording's own normal form, so
that they can be compared object by object.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import importlib.util
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

from kapy._aio.clock import Clock
from kapy.api.cluster import Cluster
from kapy.api.times import stamp
from kapy.client.client import Client
from kapy.kube import Document, Key, yaml
from kapy.kube.names import CONFIG_MAPS, NODES, SECRETS, Resource
from kapy.remote.cluster_cache import ClusterCache, NotConnected
from kapy.testing.story import Story
from tests.oracle.recorded import data

TRACES = data("oracle/traces")

QUIET = 45.0
LOOK_EVERY = 3.0
LONGEST = 3600.0

FROM_A_SECRET = """
apiVersion: v1
kind: Secret
metadata: {name: from-crs, namespace: kube-system}
stringData: {k: v}
"""

IGNORED = (
    "metadata.managedFields",
    "metadata.generation",
    "metadata.uid",
    "metadata.creationTimestamp",
    "metadata.resourceVersion",
)


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"recorded_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass
class Recorded:
    """One recorded story: what was done, and the objects at each stage.

    workload: answers of the workload cluster's API server by path, where they were recorded.
    """

    name: str
    steps: list[Document]
    stages: dict[str, list[Document]]
    workload: Document

    @classmethod
    def read(cls, name: str, stories: Path = TRACES) -> Recorded:
        """The story of a name. stories: the folder of all stories."""
        folder = stories / name
        story = yaml.load((folder / "story.yaml").read_text())
        text = gzip.decompress((folder / "final.yaml.gz").read_bytes()).decode()
        results = {stage["stage"]: stage["objects"] for stage in yaml.load_all(text)}
        workload = results.pop("workload-cluster", {})
        return cls(name, story["steps"], results, workload)


@dataclass
class Player:
    """Plays steps; `stages` fills up with normalised snapshots.

    connections: how the workload cluster is reached. recorded: the stages as they were recorded,
    which tell the objects of generated names apart. workload: what the workload cluster answered
    last, by path.
    """

    story: Story
    kinds: Iterable[Resource]
    namespace: str
    clock: Clock
    connections: ClusterCache
    recorded: dict[str, list[Document]]
    stages: dict[str, list[Document]] = field(default_factory=dict)
    workload: dict[str, list[Document]] = field(default_factory=dict)

    @property
    def client(self) -> Client:
        return self.story.client

    async def play(self, steps: list[Document]) -> None:
        for step in steps:
            await self.step(step)

    async def step(self, step: Document) -> None:
        match step["do"]:
            case "create":
                document = _filled(step["object"])
                await self.client.create(self.story.resource_of(document), document)
            case "merge-patch":
                await self.client.patch(
                    self._resource(step["kind"]),
                    Key(self.namespace, await self._name(step["kind"], step["name"])),
                    self._dated(step["body"]),
                )
            case "workload-merge-patch":
                await self._patch_node(step["path"].rpartition("/")[2], step["body"])
            case "delete":
                resource = self._resource(step["kind"])
                name = await self._name(step["kind"], step["name"])
                await self.client.delete(resource, Key(self.namespace, name))
            case "wait":
                await self.quiet()
            case "snapshot":
                self.stages[step["label"]] = await self.snapshot()
                await self._look_into_workload()
            case other:
                raise NotImplementedError(f"step {other!r} of a recorded story")

    def _resource(self, kind: str) -> Resource:
        return next(
            resource for resource in (*self.kinds, CONFIG_MAPS, SECRETS) if resource.kind == kind
        )

    async def _name(self, kind: str, name: str) -> str:
        """A generated name is told by its rank: placeholders are numbered as objects came."""
        if "${" not in name:
            return name
        recorded = next(reversed(self.stages), "")
        names = {
            document["metadata"]["name"]
            for document in self.recorded[recorded]
            if document["kind"] == kind
        }
        alike = {item for item in names if _without_number(item) == _without_number(name)}
        rank = sorted(alike, key=_last_number).index(name)
        listed = (await self.client.list(self._resource(kind), self.namespace)).items
        mine = [
            (document["metadata"]["creationTimestamp"], document["metadata"]["name"])
            for document in listed
            if document["metadata"]["name"].startswith(name.partition("${")[0])
        ]
        return str(sorted(mine)[rank][1])

    async def _patch_node(self, name: str, body: Document) -> None:
        """A Node has its Machine's name. The recording left out what tells of this very run."""
        messages = {"reason": "Recorded", "lastTransitionTime": stamp(self.clock())}
        conditions = [{**messages, **condition} for condition in body["status"]["conditions"]]
        key = Key("", await self._name("Machine", name))
        patch = {"status": {"conditions": conditions}}
        client = await self._workload_client()
        await client.patch(NODES, key, patch, subresource="status")

    async def _workload_client(self) -> Client:
        (cluster,) = (await self.client.list(Cluster, self.namespace)).items
        return self.connections.client(cluster.key)

    async def _look_into_workload(self) -> None:
        try:
            client = await self._workload_client()
        except (NotConnected, ValueError):
            return  # before the cluster is there, and when it is gone
        for kind in (CONFIG_MAPS, SECRETS):
            self.workload[kind.path()] = list((await client.list(kind)).items)

    def _dated(self, body: Document) -> Document:
        """A recorded moment was a few seconds ahead when it was written."""
        soon = (self.clock() + timedelta(seconds=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
        dated: Document = json.loads(re.sub(r"\$\{time:\d+\}", soon, json.dumps(body)))
        return dated

    async def quiet(self) -> None:
        """Wait until no object of the namespace has changed for `QUIET` seconds."""
        loop = asyncio.get_running_loop()
        deadline, state, since = loop.time() + LONGEST, "", loop.time()
        while loop.time() < deadline:
            now = await self._fingerprint()
            if now != state:
                state, since = now, loop.time()
            elif loop.time() - since >= QUIET:
                return
            await asyncio.sleep(LOOK_EVERY)
        raise AssertionError("the plane never comes to rest")

    async def _fingerprint(self) -> str:
        versions = [
            document["metadata"]["resourceVersion"]
            for kind in self.kinds
            for document in (await self.client.list(kind, self.namespace)).items
        ]
        return ",".join(versions)

    async def snapshot(self) -> list[Document]:
        """All objects of the namespace, without what a recording leaves out."""
        objects: list[Document] = []
        for kind in (*self.kinds, CONFIG_MAPS, SECRETS):
            for document in (await self.client.list(kind, self.namespace)).items:
                if document["metadata"]["name"] == "kube-root-ca.crt":
                    continue
                objects.append({"apiVersion": kind.api_version, "kind": kind.kind, **document})
        normaliser = _module(TRACES / "normalise.py").Normaliser()
        return [normaliser.value(json.loads(json.dumps(obj))) for obj in objects]


def _filled(document: Document) -> Document:
    """Recorded Secret data is redacted; any value will do, but what is put into a cluster has to be
    what was found there."""
    if document["kind"] == "Secret":
        value = base64.b64encode(b"recorded").decode()
        filled = {**document, "data": dict.fromkeys(document.get("data", {}), value)}
        if "stringData" in document:
            filled["stringData"] = dict.fromkeys(document["stringData"], FROM_A_SECRET)
        return filled
    return document


def _without_number(name: str) -> str:
    return re.sub(r"\d+}", "}", name)


def _last_number(name: str) -> int:
    return int(re.findall(r":(\d+)}", name)[-1])


def unexplained(
    recorded: Recorded, stages: Mapping[str, list[Document]], explained: Iterable[str]
) -> dict[str, list[str]]:
    """By stage, what is not as it was recorded. explained: patterns of what may differ."""
    results: dict[str, list[str]] = {}
    patterns = list(explained)
    for stage, objects in stages.items():
        lines = differences(recorded.stages[stage], objects)
        results[stage] = [
            line
            for line in lines
            if not any(re.search(pattern, f"{stage}: {line}") for pattern in patterns)
        ]
    return results


def differences(recorded: list[Document], actual: list[Document]) -> list[str]:
    """One line for each object, and each field of an object, that is not as recorded."""
    want, have = _by_name(recorded), _by_name(actual)
    lines: list[str] = []
    for name in sorted({*want, *have}):
        entry, other = want.get(name, []), have.get(name, [])
        if len(entry) != len(other):
            lines.append(f"{name}: {len(entry)} recorded, {len(other)} given")
            continue
        for left, right in zip(entry, other, strict=True):
            lines += [f"{name}: {line}" for line in _walk(left, right, "")]
    return lines


def _by_name(objects: list[Document]) -> dict[str, list[Any]]:
    canonical = _module(TRACES / "compare.py").canonical
    named: dict[str, list[Any]] = {}
    for obj in objects:
        plain = canonical(obj, "", IGNORED)
        named.setdefault(f"{plain['kind']}/{plain['metadata']['name']}", []).append(plain)
    for group in named.values():
        group.sort(key=lambda value: json.dumps(value, sort_keys=True))
    return named


def _walk(left: Any, right: Any, path: str) -> Iterable[str]:
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted({*left, *right}):
            if key not in right:
                yield f"{path}.{key}: {_short(left[key])} is missing"
            elif key not in left:
                yield f"{path}.{key}: {_short(right[key])} was not recorded"
            else:
                yield from _walk(left[key], right[key], f"{path}.{key}")
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for number, (item, other) in enumerate(zip(left, right, strict=True)):
            yield from _walk(item, other, f"{path}[{number}]")
    elif left != right:
        yield f"{path}: {_short(left)} became {_short(right)}"


def _short(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:157]}..."
