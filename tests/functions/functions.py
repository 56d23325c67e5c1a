"""Functions of Cluster API that are compared, with the checks that replay their recorded cases."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple

from kapy.kube import Document
from tests.oracle.recorded import data
from tests.oracle.registry import PURE
from tests.oracle.topic import Check, Record, records
from tests.topology import recorded_templates

ADMISSION: Final = "admission-unit"
_KINDS: Final = (
    *("ClusterResourceSet", "KubeadmConfig", "KubeadmControlPlane", "Machine"),
    *("MachineDeployment", "MachineHealthCheck", "MachinePool", "MachineSet"),
)
ANSWERS: Final[Mapping[str, tuple[str, ...]]] = {
    "cloudinit/kubeadm_marshal": (*("out", "error", "unmarshalled", "unmarshalledAdditionalData"),),
    "cloudinit/userdata": ("cloud_config", "ignition"),
    "conditions/aggregate": ("out", "error"),
    "conditions/summary": ("out", "error"),
    "envsubst/process": (
        *("out", "error", "panic", "variables", "variables_error", "variable_map"),
    ),
    "gotemplate/render": (
        *("text", "parseError", "execError", "value", "raw", "error", "enabled", "rawNil"),
    ),
    "gotemplate/variable_path": ("raw", "error", "notFound"),
    "inlinepatches/apply_patch": ("out", "error"),
    "inlinepatches/calculate_value": ("raw", "error"),
    "inlinepatches/matches_selector": ("out",),
    "labels/format_value": ("out", "equal_self", "equal_raw"),
    "rollout/fenceposts": ("surge", "unavailable", "MaxSurge", "MaxUnavailable", "error"),
    "variables/default_variables": ("errors", "out"),
    "variables/validate_class_variables": ("errors",),
    "variables/validate_variable": ("errors",),
    "variables/validate_variables": ("errors",),
    "version/compare": (
        *("isSupportedVersionSkew", "compare", "withBuildTags", "withoutPreReleases", "both"),
    ),
    "version/parse_tolerant": (*("out", "error", "majorMinorPatch", "image_tag", "strict_ok"),),
    **{f"{ADMISSION}/{kind}": ("out", "error", "status", "warnings") for kind in _KINDS},
}
"""By function (topic/file), the fields of a case that the function answers."""


class Function(NamedTuple):
    """A function with its recorded cases. given: the arguments of each case."""

    name: str
    given: list[Record]
    check: Check

    @property
    def judge(self) -> str:
        """The name of the function in the judge: one for all kinds of objects."""
        topic = self.name.partition("/")[0]
        return topic if topic == ADMISSION else self.name


def recorded_functions() -> list[str]:
    """Return the functions of ANSWERS whose recorded cases are here: the repository has a part."""
    return [name for name in ANSWERS if any(_recordings(name))]


def function(name: str) -> Function:
    """Return one of the recorded functions."""
    topic, _, file = name.partition("/")
    (path,) = _recordings(name)
    answers = ANSWERS[name]
    given = [
        {key: value for key, value in record.items() if key not in answers}
        for record in records(path)
    ]
    return Function(name, given, _checks(topic)[file])


def _recordings(name: str) -> Iterator[Path]:
    topic, _, file = name.partition("/")
    return data(f"oracle/{topic}").glob(f"{file}.jsonl*")


def template_variables() -> Document:
    """Return the variables that every template is rendered with."""
    document: Document = json.loads((_templates() / "variables.json").read_text())
    return document


def _templates() -> Path:
    return data("oracle/gotemplate")


def _checks(topic: str) -> Mapping[str, Check]:
    match topic:
        case "gotemplate":
            return recorded_templates.checks(template_variables())
        case "variables":
            module = "tests.oracle.variables"
        case "admission-unit":
            module = "tests.api.recorded"
        case _:
            module = PURE[topic]
    files: Mapping[str, Check] = import_module(module).FILES
    return files


def matching(part: str) -> Iterator[str]:
    """Return the names of the functions that have a text in them."""
    return (name for name in recorded_functions() if part in name)
