"""Webhooks of Cluster API that are compared with kapy's, by changed requests.

Each case is a recorded write with one to three changes. An embedded server with kapy's admission
answers it, and so do Cluster API's webhooks in Go. A case that the server refuses by its schema is
left out: a request reaches no validating webhook then.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from kapy.kube import Document
from tests.functions.judge import judge
from tests.functions.mutations import Mutations
from tests.oracle import admission
from tests.oracle.admission import Answer
from tests.oracle.recorded import data
from tests.oracle.topic import Record, records

KINDS: Final = (
    *("Cluster", "ClusterClass", "ClusterResourceSet", "KubeadmConfig", "KubeadmControlPlane"),
    *("Machine", "MachineDeployment", "MachineDrainRule", "MachineHealthCheck", "MachinePool"),
    "MachineSet",
)
PREFIX: Final = "webhooks/"
_WEBHOOK: Final = "admission webhook"
_FIXED: Final = frozenset(("kind", "operation", "group", "id", "title", "old"))
_RECORDED: Final = "oracle/admission"


class Compared(NamedTuple):
    """A case that both sides answered. differences: lines, none if both say the same."""

    case: Record
    differences: tuple[str, ...]


def recorded_requests(kind: str) -> list[Record]:
    """Return the recorded creations and updates of a kind in the newest version."""
    (path,) = data(_RECORDED).glob("cases.jsonl*")
    keys = ("kind", "operation", "old", "new", "group", "id", "title")
    return [
        {key: record[key] for key in keys}
        for record in records(path)
        if record["kind"] == kind and record["group"] in ("targeted", "in-use") and _fits(record)
    ]


def changed_requests(kind: str, count: int, seed: int) -> list[Record]:
    """Return requests with changes that leave the name of the object as it is."""
    mutations = Mutations(recorded_requests(kind), seed, fixed=_FIXED)
    return [case for case in mutations.cases(count) if _fits(case)]


def compare_webhooks(cases: list[Record]) -> list[Compared]:
    """Return the cases that both sides answered. Raises NoJudge."""
    environment = admission.environment_of(data(_RECORDED))
    ours = asyncio.run(_ask(cases, environment))
    theirs = judge("webhooks/request", cases, map(_reconciled, environment))
    return [
        Compared(case, tuple(_differences(answer, response)))
        for case, answer, response in zip(cases, theirs, ours, strict=True)
        if "allowed" in answer and response is not None and not _is_schema(response)
    ]


async def _ask(cases: Iterable[Record], environment: list[Document]) -> list[Answer | None]:
    """Return the responses of our server, None where the case cannot be sent."""
    async with admission.served(environment) as transport:
        return [await _answer(transport, case) for case in cases]


async def _answer(transport: Any, case: Record) -> Answer | None:
    try:
        return await admission.answered(transport, case)
    except (KeyError, TypeError, AttributeError):
        return None  # the change has removed what the path of the request needs


def _reconciled(document: Document) -> Document:
    """Return an object with the generation that its controller has observed.

    The recording has no generations. A class that its controller has not reconciled yet makes
    Cluster API's webhook wait.
    """
    observed = (document.get("status") or {}).get("observedGeneration")
    if observed is None:
        return document
    result = copy.deepcopy(document)
    result["metadata"]["generation"] = observed
    return result


def _fits(record: Record) -> bool:
    """Report whether a request creates or updates its own kind under the name of the old object."""
    new, old = record["new"], record["old"]
    if record["operation"] not in ("CREATE", "UPDATE") or not isinstance(new, dict):
        return False
    version, metadata = new.get("apiVersion"), new.get("metadata")
    if not isinstance(version, str) or not isinstance(metadata, dict) or not metadata.get("name"):
        return False
    return (
        new.get("kind") == record["kind"]
        and version.endswith("/v1beta2")
        and metadata.get("namespace") == "adm"
        and (not old or metadata["name"] == old["metadata"]["name"])
    )


def _is_schema(response: Answer) -> bool:
    """Report whether the server refused a request before its validating webhooks."""
    return response.code >= 400 and _WEBHOOK not in str(response.body.get("message"))


def _differences(answer: Document, response: Answer) -> Iterator[str]:
    allowed = response.code < 400
    if allowed != answer["allowed"]:
        yield (
            f"upstream: {answer.get('message', 'allowed')}; "
            f"kapy: {response.body.get('message', 'allowed') if not allowed else 'allowed'}"
        )
        return
    if allowed:
        return
    ours = _causes((response.body.get("details") or {}).get("causes"))
    theirs = _causes(answer["causes"])
    if ours != theirs:
        yield f"causes: upstream {theirs}, kapy {ours}"


def _causes(causes: list[Document] | None) -> list[tuple[str, str]]:
    return sorted((cause["reason"], cause["field"]) for cause in causes or ())
