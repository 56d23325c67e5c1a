"""Topic `admission`: writes that a kube-apiserver with upstream's webhooks answered, asked of ours.

In process, on a plane without controllers. Compared are the first three levels of the topic's
README: status code, causes, and the object with its defaults.
"""

from __future__ import annotations

import asyncio
import copy
import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from kapy._aio.clock import loop_clock
from kapy.api.features import FeatureGates
from kapy.apiserver.server import Server
from kapy.apps.admission import AdmissionRules
from kapy.apps.conversion import convert_documents
from kapy.apps.definitions import install_definitions
from kapy.client.client import Client
from kapy.kube import Document
from kapy.kube.http import ADMIN, MERGE_PATCH, Request, Transport
from kapy.kube.names import NAMESPACES
from tests.oracle.topic import Record, Result, compared, records

GATES: Final = FeatureGates(cluster_topology=True, runtime_sdk=True)
"""The gates that were open when the cases were recorded (README)."""

_SERVERS: Final = frozenset(
    ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation")
) | {"deletionTimestamp"}
_UID: Final = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")


class Answer(NamedTuple):
    """A server's response."""

    code: int
    body: Document


def play(folder: Path, kind: str = "", group: str = "") -> list[Result]:
    """Every recorded write, or those of a kind, or of a group (`schema` …)."""
    (recorded,) = folder.glob("cases.jsonl*")
    cases = [
        record
        for record in records(recorded)
        if kind in ("", record["kind"]) and group in ("", record["group"])
    ]
    return asyncio.run(_played(cases, environment_of(folder)))


def environment_of(folder: Path) -> list[Document]:
    """The objects that exist."""
    environment = list(yaml.safe_load_all((folder / "environment.yaml").read_text()))
    return [item for item in environment if item]


async def _played(cases: list[Record], environment: list[Document]) -> list[Result]:
    async with served(environment) as transport:
        return [await _result(transport, case) for case in cases]


@asynccontextmanager
async def served(environment: Iterable[Document]) -> AsyncIterator[Transport]:
    """Run a server without controllers that has our kinds, their admission, and these objects."""
    rules = AdmissionRules(GATES)
    server = Server.open(None, clock=loop_clock(), admission=(rules,), convert=convert_documents)
    transport = server.transport(ADMIN)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(server.run())
        await asyncio.sleep(0)
        client = Client(transport)
        rules.enable_reads(client)
        await install_definitions(client)
        await _create_environment(client, environment)
        yield transport
        running.cancel()
    server.close()


async def asked(
    client: Client, cases: Iterable[Record], environment: Iterable[Document]
) -> list[Result]:
    """Return the results of the cases on a server with our kinds and their admission."""
    await _create_environment(client, environment)
    return [await _result(client.transport, case) for case in cases]


async def _create_environment(client: Client, environment: Iterable[Document]) -> None:
    namespace = {"metadata": {"name": "adm"}, **_type_of(NAMESPACES)}
    await client.create(NAMESPACES, namespace)
    for document in environment:
        await _create(client.transport, document)


def _type_of(resource: Any) -> Document:
    return {"apiVersion": resource.api_version, "kind": resource.kind}


async def _create(transport: Transport, document: Document) -> Answer:
    """Create an object as it is stored, and its status."""
    document = copy.deepcopy(document)
    status = document.pop("status", None)
    for key in ("ownerReferences", "finalizers"):
        document["metadata"].pop(key, None)
    answer = await _asked(transport, "POST", _collection(document), document)
    if answer.code == 201 and status:
        path = f"{_collection(document)}/{document['metadata']['name']}/status"
        await _asked(transport, "PUT", path, {**copy.deepcopy(answer.body), "status": status})
    return answer


async def _result(transport: Transport, case: Record) -> Result:
    name = f"{case['id']} {case['kind']} {case['operation']} {case['title']}"
    try:
        answer = await answered(transport, case)
        return Result(name, tuple(_differences(case["response"], answer)))
    except Exception as error:
        return Result(name, (f"raised {type(error).__name__}: {error}",))


async def answered(transport: Transport, case: Record) -> Answer:
    """Return the server's response to the write of a case."""
    operation, old, new = case["operation"], case["old"], copy.deepcopy(case["new"])
    if operation == "CREATE":
        return await _asked(transport, "POST", f"{_collection(new)}?dryRun=All", new)
    path = f"{_collection(old)}/{old['metadata']['name']}"
    there = case["group"] == "in-use"
    if not there and (answer := await _create(transport, old)).code != 201:
        return answer
    try:
        return await _changed(transport, case, path, new)
    finally:
        if not there:
            await _asked(transport, "DELETE", path)


async def _changed(transport: Transport, case: Record, path: str, new: Any) -> Answer:
    match case["operation"]:
        case "UPDATE":
            live = (await _asked(transport, "GET", path)).body["metadata"]
            fields = ("uid", "resourceVersion", "creationTimestamp")
            new["metadata"] |= {key: live[key] for key in fields if key in live}
            return await _asked(transport, "PUT", f"{path}?dryRun=All", new)
        case "DELETE":
            return await _asked(transport, "DELETE", f"{path}?dryRun=All")
        case "GET/scale":
            return await _asked(transport, "GET", f"{path}/scale")
        case "PATCH/scale":
            return await _asked(transport, "PATCH", f"{path}/scale?dryRun=All", new)
        case "CONVERT":
            name = case["old"]["metadata"]["name"]
            return await _asked(
                transport, "GET", f"{_collection(case['old'], case['version'])}/{name}"
            )
        case other:
            raise ValueError(other)


def _collection(document: Document, version: str = "") -> str:
    group, _, own = document["apiVersion"].partition("/")
    kind = document["kind"].lower()
    plural = kind + ("es" if kind.endswith(("s", "x")) else "s")
    namespace = document["metadata"].get("namespace")
    inside = f"/namespaces/{namespace}" if namespace else ""
    return f"/apis/{group}/{version or own}{inside}/{plural}"


async def _asked(transport: Transport, method: str, url: str, body: Any = None) -> Answer:
    path, _, query = url.partition("?")
    headers = {"content-type": MERGE_PATCH} if method == "PATCH" else {}
    parameters = dict(part.split("=") for part in query.split("&") if part)
    sent = None if body is None else json.dumps(body).encode()
    reply = await transport(Request(method, path, parameters, headers, sent))
    return Answer(reply.status, reply.body if isinstance(reply.body, dict) else {})


def _differences(recorded: Mapping[str, Any], answer: Answer) -> Iterator[str]:
    code, body = recorded["code"], recorded["body"] or {}
    if code == 500 or (code == 400 and not _causes(body)):
        # A Go decoder's words. To refuse it, and to name the field as a schema does, is better.
        if answer.code not in (400, 422, code):
            yield f"code: recorded {code} ({body.get('message')}), given {answer.code}"
        return
    if code != answer.code:
        yield f"code: recorded {code}, given {answer.code} ({answer.body.get('message')})"
        yield f"      recorded: {body.get('message')}"
    elif code >= 400:
        yield from compared(body.get("reason"), answer.body.get("reason"), "reason")
        yield from compared(_causes(body), _causes(answer.body), "causes")
    elif body.get("kind") != "Status":
        yield from compared(_without_status(body), _without_status(_normal(answer.body)))


def _causes(body: Document) -> list[list[str]]:
    causes = (body.get("details") or {}).get("causes") or []
    return sorted([cause.get("field", ""), cause.get("reason", "")] for cause in causes)


def _without_status(body: Document) -> Document:
    return {key: value for key, value in body.items() if key != "status"}


def _normal(node: Any, key: str = "") -> Any:
    if isinstance(node, dict):
        return {
            name: _normal(value, name)
            for name, value in node.items()
            if not (key == "metadata" and name in _SERVERS)
        }
    if isinstance(node, list):
        return [_normal(item) for item in node]
    return _UID.sub("${uid}", node) if isinstance(node, str) else node
