"""Manifests of upstream's templates and examples, as a user applies them: variables filled in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from kapy.api.kinds import BY_GROUP_KIND, Kind
from kapy.kube import Document, yaml
from kapy.kube.names import GroupKind, split_api_version
from tests.oracle.recorded import PROVIDERS, RECORDED
from tests.oracle.topic import records

REALISTIC: Final = RECORDED / "conversion" / "realistic.jsonl.gz"

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::?[-=]([^${}]*))?\}")
_PATCHED: Final = ("Cluster", "KubeadmControlPlane")
"""Kinds of which the examples hold patches for kustomize, that are no objects by themselves."""

_NAMED: Final = re.compile(r"^    kind: (\w+)$", re.MULTILINE)
"""The kind that a CRD defines."""

_VALUES: Final[Mapping[str, str]] = {
    "KUBERNETES_VERSION": "v1.34.0",
    "CONTROL_PLANE_MACHINE_COUNT": "1",
    "WORKER_MACHINE_COUNT": "2",
    "DOCKER_POD_CIDRS": "192.168.0.0/16",
    "DOCKER_SERVICE_CIDRS": "10.128.0.0/12",
    "DOCKER_SERVICE_DOMAIN": "cluster.local",
}


def templates() -> list[Path]:
    """Every cluster template and ClusterClass of every provider, but for those of vSphere's
    supervisor, whose definitions are not there: references to them have no version."""
    paths = sorted(PROVIDERS.glob("*/*/cluster*.yaml"))
    return [path for path in paths if "supervisor" not in path.name]


def definitions(documents: list[Document]) -> Iterator[Document]:
    """The CRDs of other providers' kinds that the documents refer to: a reference has no version
    where its kind is not defined."""
    named = set(re.findall(r"\w+", json.dumps(documents)))
    for path in sorted(PROVIDERS.glob("infrastructure-*/*/*components*.yaml")):
        for text in path.read_text(encoding="utf-8").split("\n---\n"):
            # Most of these files is not asked for, and YAML is slow to read.
            if named & set(_NAMED.findall(text)):
                definition = yaml.load(text, str(path))
                spec = definition["spec"]
                if GroupKind(spec["group"], spec["names"]["kind"]) not in BY_GROUP_KIND:
                    yield definition


def kind_of(document: Document) -> Kind | None:
    """The kind of an object, None when kapy does not define it."""
    group, _ = split_api_version(document["apiVersion"])
    return BY_GROUP_KIND.get(GroupKind(group, document["kind"]))


def filled_in(text: str, namespace: str) -> str:
    """A template with its variables replaced: by a value, by its default, by any word."""
    values = {**_VALUES, "NAMESPACE": namespace, "CLUSTER_NAME": "capybara"}

    def value(match: re.Match[str]) -> str:
        name, default = match.groups()
        return values.get(name, "one" if default is None else default)

    before = ""
    while before != text:  # a default may hold a variable
        before, text = text, _VARIABLE.sub(value, text)
    return text


def objects_of(template: Path, namespace: str) -> list[Document]:
    """The in-tree objects of a template, in a namespace of their own."""
    text = filled_in(template.read_text(encoding="utf-8"), namespace)
    documents = yaml.load_all(text, str(template))
    return [placed(document, namespace) for document in documents if document and kind_of(document)]


def examples() -> list[Document]:
    """Objects of upstream's end-to-end tests and documents, each in a namespace of its own."""
    recorded = [record["in"] for record in records(REALISTIC) if record["case"] == "realistic"]
    whole = [item for item in recorded if item["kind"] not in _PATCHED]
    return [placed(item, f"example-{number}") for number, item in enumerate(whole)]


def placed(document: Document, namespace: str) -> Document:
    """The object as a user would write it, in a namespace."""
    metadata = document["metadata"]
    metadata_kept = {key: metadata[key] for key in ("labels", "annotations") if key in metadata}
    metadata_kept["name"] = metadata.get("name") or "one"
    kind = kind_of(document)
    assert kind is not None
    if kind.type_of().RESOURCE.namespaced:
        metadata_kept["namespace"] = namespace
    result = {key: value for key, value in document.items() if key not in ("metadata", "status")}
    return {**result, "metadata": metadata_kept}
