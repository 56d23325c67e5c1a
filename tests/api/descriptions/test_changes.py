"""Tests that the description of a field tells the effect of a change: none, an error, a rollout or
an in-place update. Validation and the controllers' own comparisons determine the effect."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from typing import Final

import pytest

from kapy.api import validation
from kapy.api.documents import default
from kapy.api.features import FeatureGates
from kapy.api.kinds import KINDS
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine, MachineTemplateSpec
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.names import Annotation
from kapy.api.template_changes import difference
from kapy.core.machinedeployment.desired import new_set, update_set
from kapy.kube import Document
from kapy.kube.meta import ObjectMeta, read
from kapy.kube.model import decode, encode
from kapy.providers.kubeadm.controlplane.desired import kubeadm_config_spec
from kapy.providers.kubeadm.controlplane.uptodate import outdated
from tests.api.descriptions.fields import Described, by_path
from tests.api.descriptions.samples import changes, removals, sample

GATES: Final = FeatureGates()
REFUSED: Final = re.compile(r"\b(immutable|cannot be|not allowed|rejects)\b")
ROLLOUT: Final = re.compile(r"\b(roll out|rolls out|rollout)\b")
NO_EFFECT: Final = {
    "clusterName": "it must be that of the MachineDeployment",
    "providerID": "the infrastructure provider sets it in the Machine",
}
"""Fields of a Machine's template that no controller reads, each with the reason."""
IN_PLACE: Final = re.compile(r"\bin place\b|\bno rollout\b")


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_a_change_that_is_refused_is_reported(kind: str) -> None:
    fields = by_path(kind)
    describeds = {path: fields[path] for path in refused_changes(kind)}
    assert without(REFUSED, describeds) == []


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_a_removal_that_is_refused_is_reported(kind: str) -> None:
    fields = by_path(kind)
    describeds = {path: fields[path] for path in refused(kind, removals(kind))}
    assert without(REFUSED, describeds) == []


@pytest.mark.parametrize("kind", ["MachineDeployment", "KubeadmControlPlane"])
def test_a_change_that_rolls_out_machines_is_reported(kind: str) -> None:
    fields, effects = by_path(kind), EFFECTS[kind]()
    describeds = {path: fields[path] for path, effect in effects.items() if effect == "rollout"}
    assert without(ROLLOUT, describeds, *TEMPLATES[kind]) == []


@pytest.mark.parametrize("kind", ["MachineDeployment", "KubeadmControlPlane"])
def test_a_change_that_reaches_machines_in_place_is_reported(kind: str) -> None:
    fields, effects = by_path(kind), EFFECTS[kind]()
    describeds = {path: fields[path] for path, effect in effects.items() if effect == "in place"}
    assert without(IN_PLACE, describeds, *TEMPLATES[kind]) == []


def test_every_effect_of_a_change_is_found() -> None:
    """The tests above examine the fields that they should."""
    of_deployment, of_plane = deployment_effects(), control_plane_effects()
    assert of_deployment["spec.template.spec.version"] == "rollout"
    assert of_deployment["spec.template.spec.minReadySeconds"] == "in place"
    assert of_deployment["spec.deletion.order"] == "in place"
    assert of_plane["spec.version"] == "rollout"
    assert of_plane["spec.kubeadmConfigSpec.files[].content"] == "rollout"
    assert of_plane["spec.kubeadmConfigSpec.clusterConfiguration.dns.imageTag"] == "in place"
    assert "spec.clusterName" in refused_changes("Machine")
    assert "spec.address" in refused_changes("IPAddress")
    assert "spec.topology" in set(refused("Cluster", removals("Cluster")))
    fields = by_path("KubeadmControlPlane")
    assert without(REFUSED, {"": fields["spec.version"]}) != []


def test_every_field_of_a_machine_template_has_an_effect() -> None:
    """A field that no comparison mentions would never reach a Machine."""
    prefix, effects = "spec.template.spec.", deployment_effects()
    paths = [path for path, _ in changes("MachineDeployment") if path.startswith(prefix)]
    without_effect = {path.removeprefix(prefix) for path in paths if path not in effects}
    refused = {path.removeprefix(prefix) for path in refused_changes("MachineDeployment")}
    assert without_effect - refused == set(NO_EFFECT)


def without(words: re.Pattern[str], fields: dict[str, Described], *above: str) -> list[str]:
    """Fields without the words in their description and in those of their parents up to `above`."""
    return [
        str(field) for field in fields.values() if not any(map(words.search, field.below(*above)))
    ]


def refused(kind: str, changed: Iterable[tuple[str, Document]]) -> Iterator[str]:
    """The paths of the changes that validation refuses, though it would let such an object be
    created."""
    before = sample(kind)
    for path, after in changed:
        alone = {str(field_error) for field_error in validation.validate(after, gates=GATES)}
        if any(
            str(field_error) not in alone
            for field_error in validation.validate(after, before, gates=GATES)
        ):
            yield path


@cache
def refused_changes(kind: str) -> frozenset[str]:
    """The paths of the fields that validation does not let change. Of templates some are tried:
    their spec is compared as a whole."""
    return frozenset(refused(kind, islice(changes(kind), 0, None, _step(kind))))


def _step(kind: str) -> int:
    return 25 if kind.endswith("Template") else 1


@cache
def deployment_effects() -> dict[str, str]:
    """The effects on Machines of changes to their MachineDeployment, by path."""
    before = read(default(sample("MachineDeployment")), MachineDeployment)
    current = new_set(before)
    effects = {}
    for path, changed in changes("MachineDeployment"):
        after = read(default(changed), MachineDeployment)
        template = decode(encode(after.spec.template), MachineTemplateSpec)
        if not difference(before.spec.template, template).up_to_date:
            effects[path] = "rollout"
        elif parts(update_set(after, current, old=False).spec) != parts(
            update_set(before, current, old=False).spec
        ):
            effects[path] = "in place"
    return allowed("MachineDeployment", effects)


def allowed(kind: str, effects: dict[str, str]) -> dict[str, str]:
    """The effects of those changes that validation allows."""
    return {path: effect for path, effect in effects.items() if path not in refused_changes(kind)}


def parts(spec: object) -> list[object]:
    """The parts of a MachineSet's spec that its Machines depend on."""
    return [getattr(spec, name) for name in ("template", "machine_naming", "deletion")]


@cache
def control_plane_effects() -> dict[str, str]:
    """The effects on Machines of changes to their KubeadmControlPlane, by path."""
    before = read(default(sample("KubeadmControlPlane")), KubeadmControlPlane)
    machine = Machine(
        metadata=ObjectMeta(name="abc", creation_timestamp="2026-06-01T00:00:00Z"),
        spec=read(sample("Machine"), Machine).spec,
    )
    machine.spec.version = before.spec.version
    config = KubeadmConfig(spec=kubeadm_config_spec(before, join=True))
    template = before.spec.machine_template.spec.infrastructure_ref
    cloned = {
        Annotation.CLONED_FROM_NAME: template.name,
        Annotation.CLONED_FROM_GROUP_KIND: f"{template.kind}.{template.api_group}",
    }
    now = datetime(2026, 6, 2, tzinfo=UTC)
    effects = {}
    for path, changed in changes("KubeadmControlPlane"):
        after = read(default(changed), KubeadmControlPlane)
        clone = {"metadata": {"annotations": cloned}}
        if outdated(after, machine, config, clone, now):
            effects[path] = "rollout"
        elif path.startswith(("spec.kubeadmConfigSpec", "spec.machineTemplate")):
            effects[path] = "in place"
    return allowed("KubeadmControlPlane", effects)


TEMPLATES: Final = {
    "MachineDeployment": ("spec.template", "spec.template.spec", "spec"),
    "KubeadmControlPlane": ("spec.kubeadmConfigSpec", "spec.machineTemplate.spec", "spec"),
}
"""Fields that hold so much that what they say of changes says nothing of a single one."""
EFFECTS: Final[dict[str, Callable[[], dict[str, str]]]] = {
    "MachineDeployment": deployment_effects,
    "KubeadmControlPlane": control_plane_effects,
}
