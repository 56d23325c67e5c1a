"""Real kubectl applies what upstream's users apply, in both versions, and reads it in the other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kapy._aio.clock import system_clock
from kapy.api.features import FeatureGates
from kapy.api.kinds import KINDS, STORED
from kapy.apiserver.auth.authentication import Authenticator
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application, listen
from kapy.apps.admission import AdmissionRules
from kapy.apps.conversion import convert_documents
from kapy.apps.definitions import install_definitions
from kapy.client.client import Client
from kapy.kube import Document, duration
from kapy.kube.http import ADMIN, User
from kapy.kube.names import CRDS
from tests.e2e import manifests

GATES = FeatureGates(
    cluster_topology=True,
    kubeadm_bootstrap_format_ignition=True,
    machine_taint_propagation=True,
    runtime_sdk=True,
)
OLDER = ("v1alpha1", "v1beta1")

Kubectl = Any


class Trusting(Authenticator):
    """kubectl sends no token over plain HTTP."""

    def authenticate(self, authorization: str, peer: User | None) -> User:
        return ADMIN


@asynccontextmanager
async def kubectl_of_a_server(documents: list[Document]) -> AsyncIterator[Kubectl]:
    """kubectl, and a server that knows our kinds and those that documents refer to, and has no
    controllers that would change anything."""
    server = Server.open(
        None, clock=system_clock, admission=(AdmissionRules(GATES),), convert=convert_documents
    )
    listening = listen(Application(server, Trusting()))
    async with asyncio.TaskGroup() as group, listening as (host, port):
        running = group.create_task(server.run())
        await asyncio.sleep(0)
        client = Client(server.transport(ADMIN))
        await install_definitions(client)
        for definition in manifests.definitions(documents):
            await client.create(CRDS, definition)

        async def kubectl(line: str, text: str = "") -> tuple[str, str]:
            process = await asyncio.create_subprocess_exec(
                "kubectl",
                f"--server=http://{host}:{port}",
                *line.split(),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            out, err = await process.communicate(text.encode())
            return out.decode(), err.decode()

        yield kubectl
        running.cancel()
    server.close()


def resources(versions: Iterable[str]) -> str:
    """Return the argument of `kubectl get`: every kind that is served in one of the versions."""
    return ",".join(
        f"{kind.type_of().RESOURCE.plural}.{version}.{kind.group}"
        for kind in KINDS
        for version in versions
        if version in kind.versions
    )


def identity(document: Document) -> str:
    metadata = document["metadata"]
    return f"{document['kind']} {metadata.get('namespace', '')}/{metadata['name']}"


def missing(wanted: Any, stored: Any, path: str = "") -> Iterator[str]:
    """Yield the given values that are not stored. Empty values may be dropped."""
    if isinstance(wanted, dict):
        for key, value in wanted.items():
            # The version of a reference is that of the contract, whatever was said.
            if not (key == "apiVersion" and path.endswith("Ref")):
                there = stored.get(key) if isinstance(stored, dict) else None
                yield from missing(value, there, f"{path}.{key}")
    elif isinstance(wanted, list) and isinstance(stored, list) and len(wanted) == len(stored):
        for number, (item, other) in enumerate(
            zip(in_order(wanted), in_order(stored), strict=True)
        ):
            yield from missing(item, other, f"{path}[{number}]")
    elif wanted not in (None, "", [], False, 0) and not same(wanted, stored):
        yield f"{path}: {wanted!r} became {stored!r}"


def in_order(members: list[Any]) -> list[Any]:
    """Members by name: arguments of commands have no order in v1beta1."""
    named = all(
        isinstance(member, dict) and member.keys() == {"name", "value"} for member in members
    )
    return (
        sorted(members, key=lambda member: (member["name"], member["value"])) if named else members
    )


def same(value: Any, stored: Any) -> bool:
    """Whether two values say the same: a duration has more than one form."""
    if value == stored or not (isinstance(value, str) and isinstance(stored, str)):
        return bool(value == stored)
    try:
        return duration.canonical(value) == duration.canonical(stored)
    except ValueError:
        return False


async def read(kubectl: Kubectl, *versions: str) -> dict[str, Document]:
    out, err = await kubectl(f"get {resources(versions)} -A -o json")
    assert errors(err) == []
    return {identity(item): item for item in json.loads(out)["items"]}


async def wrote(kubectl: Kubectl, verb: str, documents: list[Document]) -> list[str]:
    text = "\n".join(json.dumps(document) for document in documents)
    _, err = await kubectl(f"{verb} -f -", text)
    return errors(err)


def errors(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("Warning: ")]


def kept(
    document: Document, stored: dict[str, Document], older: dict[str, Document]
) -> Iterator[str]:
    """Yield the values of a manifest that are lost when it is read in its own version."""
    name = identity(document)
    results = stored if document["apiVersion"].endswith(STORED) else older
    for text in missing(document, results.get(name)):
        yield f"{document['apiVersion']} {name}: {text}"


def namespaces(documents: list[Document]) -> list[Document]:
    names = sorted({document["metadata"].get("namespace", "default") for document in documents})
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in names]


def everything() -> list[Document]:
    examples = list(manifests.examples())
    for number, template in enumerate(manifests.templates()):
        examples += manifests.objects_of(template, f"template-{number}")
    return examples


@pytest.mark.sockets
@pytest.mark.recorded
async def test_manifests_are_accepted_kept_and_the_same_in_both_versions() -> None:
    documents = everything()
    assert len(documents) >= 200
    async with kubectl_of_a_server(documents) as kubectl:
        assert await wrote(kubectl, "apply", [*namespaces(documents), *documents]) == []
        stored, older = await read(kubectl, STORED), await read(kubectl, *OLDER)
        lost = [text for document in documents for text in kept(document, stored, older)]
        assert lost == []
        # As a tool does that knows the older version only: read, and write back what was read.
        assert await wrote(kubectl, "replace", list(older.values())) == []
        again = await read(kubectl, STORED)
    changed = [
        f"{name}: {text}"
        for name, document in stored.items()
        for text in missing(document.get("spec"), again[name].get("spec"))
    ]
    assert changed == []
