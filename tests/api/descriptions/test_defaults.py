"""Tests that the description of a field tells the default that the server sets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from kapy.api.documents import default
from kapy.api.kinds import KINDS, STORED
from kapy.kube import Document
from tests.api.descriptions.fields import ALL, Described, by_path, names
from tests.api.descriptions.samples import sample

DEFAULT: Final = re.compile(r"\b([Dd]efaults?|added on admission)\b")
VERSIONS: Final = [(kind.name, version) for kind in KINDS for version in kind.versions]


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_descriptions_name_the_defaults(kind: str) -> None:
    fields = by_path(kind)
    untold = {
        str(fields[path]): value
        for path, value in filled_in(kind).items()
        if not tells(fields[path], value)
    }
    assert untold == {}


def test_defaults_are_filled_in() -> None:
    """The test above examines the fields that it should."""
    assert filled_in("MachineDeployment")["spec.replicas"] == 1
    assert filled_in("MachineDeployment")["spec.rollout.strategy.rollingUpdate.maxSurge"] == 1
    assert filled_in("ExtensionConfig")["spec.clientConfig.service.port"] == 443
    assert filled_in("KubeadmControlPlane")["spec.version"] == "v1.30.1"


def test_a_description_without_the_default_is_found() -> None:
    replicas = by_path("MachineDeployment")["spec.replicas"]
    assert tells(replicas, 1)
    assert not tells(replicas, 7)
    assert not tells(by_path("MachineDeployment")["spec.clusterName"], "abc")


def filled_in(kind: str) -> dict[str, Any]:
    """The values that defaulting sets in a `bare` object, by path."""
    source = bare(kind)
    document = default(source)
    return dict(differences("spec", source["spec"], document["spec"]))


def bare(kind: str) -> Document:
    """An object with every part of its spec. The parts have only the values that decide about
    defaults: no number, and a version in a form that a person may write."""
    whole = sample(kind)
    spec = stripped(whole["spec"])
    for above in (spec, spec.get("topology", {}), spec.get("template", {}).get("spec", {})):
        if "version" in above or kind in ("Machine", "KubeadmControlPlane"):
            above["version"] = "1.30.1"
    if kind == "Cluster":
        spec["topology"]["classRef"]["name"] = "abc"
    if kind == "ExtensionConfig":
        spec["clientConfig"]["service"]["name"] = "abc"
    return {**whole, "spec": spec}


def stripped(value: Any) -> Any:
    """A value with its objects, and with nothing else."""
    if isinstance(value, dict):
        return {key: stripped(item) for key, item in value.items() if isinstance(item, dict)}
    return value


def differences(path: str, before: Any, after: Any) -> Iterator[tuple[str, Any]]:
    """Every field that appears or changes, with its value."""
    for key, value in after.items():
        here = f"{path}.{key}"
        old = before.get(key)
        if isinstance(value, dict) and value and here.rpartition(".")[2] not in MAPS:
            yield from differences(here, old or {}, value)
        elif value != old:
            yield here, value


MAPS: Final = frozenset(("labels", "matchLabels", "annotations"))


def tells(described: Described, value: Any) -> bool:
    """Whether the field, or what contains it, has a default in its description; a number or a word
    must stand there."""
    texts = [text for text in described.below() if DEFAULT.search(text)]
    if not texts or isinstance(value, dict | list):
        return bool(texts)
    if described.name == "version":
        return True
    lower = str(value).lower() if isinstance(value, bool) else value
    return any(names(text, lower) for text in texts)


def test_every_field_is_checked() -> None:
    assert {described.kind for described in ALL if described.version == STORED} == {
        kind.name for kind in KINDS
    }
