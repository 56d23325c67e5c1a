"""Functions of Cluster API that are compared, with the checks that replay their recorded cases."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple

from kapy.kube import Document
from tests.oracle import conversion
from tests.oracle.recorded import data
from tests.oracle.registry import PURE
from tests.oracle.topic import Check, Record, records
from tests.topology import recorded_templates

ADMISSION: Final = "admission-unit"
_KINDS: Final = (
    *("ClusterResourceSet", "KubeadmConfig", "KubeadmControlPlane", "Machine"),
    *("MachineDeployment", "MachineHealthCheck", "MachinePool", "MachineSet"),
)
CONVERSION: Final = "conversion"
_CONVERTED: Final = (
    *("addons/clusterresourceset_v1beta1", "addons/clusterresourcesetbinding_v1beta1"),
    *("bootstrap/kubeadmconfig_v1beta1", "bootstrap/kubeadmconfigtemplate_v1beta1"),
    "controlplane/kubeadmcontrolplane_v1beta1",
    "controlplane/kubeadmcontrolplanetemplate_v1beta1",
    *("core/cluster_v1beta1", "core/clusterclass_v1beta1", "core/machine_v1beta1"),
    *("core/machinedeployment_v1beta1", "core/machinedrainrule_v1beta1"),
    *("core/machinehealthcheck_v1beta1", "core/machinepool_v1beta1", "core/machineset_v1beta1"),
    *("ipam/ipaddress_v1beta1", "ipam/ipaddressclaim_v1beta1", "runtime/extensionconfig_v1alpha1"),
)
"""Kinds of Cluster API's own module: those of its test providers are in another one."""
ANSWERS: Final[Mapping[str, tuple[str, ...]]] = {
    "cloudinit/kubeadm_marshal": (*("out", "error", "unmarshalled", "unmarshalledAdditionalData"),),
    "cloudinit/userdata": ("cloud_config", "ignition"),
    "conditions/aggregate": ("out", "error"),
    "conditions/mirror": ("out", "error"),
    "conditions/mirror_unstructured": ("out", "error"),
    "conditions/set": ("out",),
    "conditions/summary": ("out", "error"),
    "crdnames/crdnames": ("crd",),
    "envsubst/process": (
        *("out", "error", "panic", "variables", "variables_error", "variable_map"),
    ),
    "failuredomains/pick": ("pickMost_one_of", "pickFewest_one_of"),
    "gotemplate/render": (
        *("text", "parseError", "execError", "value", "raw", "error", "enabled", "rawNil"),
    ),
    "gotemplate/variable_path": ("raw", "error", "notFound"),
    "hooks/aggregate": ("out",),
    "hooks/discovery_response": ("out", "error"),
    "hooks/names": ("out", "error"),
    "hooks/url": ("out", "error"),
    "inlinepatches/apply_patch": ("out", "error"),
    "inlinepatches/calculate_value": ("raw", "error"),
    "inlinepatches/matches_selector": ("out",),
    "kubeconfig/secret_names": (*("parseError", "parsedCluster", "parsedPurpose"),),
    "labels/format_value": ("out", "equal_self", "equal_raw"),
    "labels/names": ("out", "error", "random"),
    "labels/naming_validation": ("errors",),
    "rollout/delete_priority": ("toMove", "toDelete"),
    "rollout/fenceposts": ("surge", "unavailable", "MaxSurge", "MaxUnavailable", "error"),
    "rollout/find_new_and_old": ("new", "old", "upToDateResults", "createReason"),
    "rollout/new_ms_replicas": ("out", "note", "error"),
    "rollout/plan": (
        *("desiredBeforePlan", "newMachineSet", "oldMachineSets", "upToDateResults"),
        *("scaleIntents", "notes", "annotationsAfter"),
    ),
    "rollout/proportion": ("out",),
    "rollout/template_up_to_date": (
        *("upToDate", "logMessages", "conditionMessages", "eligibleForInPlaceUpdate"),
    ),
    "variables/default_variables": ("errors", "out"),
    "variables/validate_class_variables": ("errors",),
    "variables/validate_variable": ("errors",),
    "variables/validate_variables": ("errors",),
    "version/compare": (
        *("isSupportedVersionSkew", "compare", "withBuildTags", "withoutPreReleases", "both"),
    ),
    "version/parse_tolerant": (*("out", "error", "majorMinorPatch", "image_tag", "strict_ok"),),
    **{f"{CONVERSION}/fuzz/{kind}": ("out", "error") for kind in _CONVERTED},
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
        return topic if topic in (ADMISSION, CONVERSION) else self.name


def recorded_functions() -> list[str]:
    """Return the functions of ANSWERS whose recorded cases are here: the repository has a part."""
    return [name for name in ANSWERS if any(_recordings(name))]


def function(name: str) -> Function:
    """Return one of the recorded functions."""
    topic, _, file = name.partition("/")
    (path,) = _recordings(name)
    answers = ANSWERS[name]
    cases = [
        {key: value for key, value in record.items() if key not in answers}
        for record in records(path)
    ]
    return Function(name, cases, _check(topic, file))


def _recordings(name: str) -> Iterator[Path]:
    topic, _, file = name.partition("/")
    return data(f"oracle/{topic}").glob(f"{file}.jsonl*")


def template_variables() -> Document:
    """Return the variables that every template is rendered with."""
    document: Document = json.loads((_templates() / "variables.json").read_text())
    return document


def _templates() -> Path:
    return data("oracle/gotemplate")


def _check(topic: str, file: str) -> Check:
    if topic == CONVERSION:
        return conversion.check
    return _checks(topic)[file]


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
