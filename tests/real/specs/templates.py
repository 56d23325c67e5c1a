"""Upstream's cluster templates for the docker backend, as templates for the in-memory backend.

Only the backend changes, and the patches of ClusterClasses that write into it. Scalars keep the
way in which they are quoted, as upstream's framework replaces text in templates.
"""

from __future__ import annotations

from typing import Any, Final

import yaml

from kapy.api.names import Annotation

BACKENDS: Final = ("DevCluster", "DevMachine", "DevMachinePool")
QUICK: Final = {"provisioning": {"startupDuration": "1s", "startupJitter": "0.2"}}
MACHINE: Final = dict.fromkeys(("vm", "node", "apiServer", "etcd"), QUICK)


class Scalar(str):
    """A scalar as it is written. tag, style: what YAML says of it."""

    tag: str
    style: str | None


class _Loader(yaml.SafeLoader):
    """Scalars are not interpreted."""


class _Dumper(yaml.SafeDumper):
    """Scalars are written as they were."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _scalar(loader: _Loader, node: yaml.ScalarNode) -> Scalar:
    scalar = Scalar(node.value)
    scalar.tag, scalar.style = node.tag, node.style
    return scalar


for _tag in ("str", "int", "bool", "float", "null", "timestamp", "merge", "value"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_tag}", _scalar)
_Dumper.add_representer(
    Scalar, lambda dumper, data: dumper.represent_scalar(data.tag, str(data), data.style)
)


def in_memory(text: str) -> str:
    """The template with the in-memory backend instead of the docker backend."""
    documents = [item for item in yaml.load_all(text, _Loader) if item]
    for document in documents:
        _convert(document)
    if any(_has_commands(item) for item in documents):
        for document in documents:
            _pause(document)
    return str(yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, width=2**20))


def _convert(document: dict[str, Any]) -> None:
    kind = str(document["kind"])
    if kind == "ClusterClass":
        patches = document["spec"].get("patches") or []
        document["spec"]["patches"] = [patch for patch in patches if not _needs_docker(patch)]
    elif kind.removesuffix("Template") in BACKENDS:
        spec = document.setdefault("spec", {})
        if kind.endswith("Template"):
            spec = spec.setdefault("template", {}).setdefault("spec", {})
        if "backend" not in spec or "docker" in spec["backend"]:
            spec["backend"] = {"inMemory": MACHINE if "Machine" in kind else {}}


def _has_commands(document: dict[str, Any]) -> bool:
    """Whether machines of a control plane run commands before kubeadm (`machines`)."""
    if document["kind"] != "KubeadmControlPlane":
        return False
    return "preKubeadmCommands" in document["spec"].get("kubeadmConfigSpec", {})


def _pause(document: dict[str, Any]) -> None:
    if document["kind"] == "DevMachineTemplate":
        metadata = document["spec"]["template"].setdefault("metadata", {})
        metadata.setdefault("annotations", {})[Annotation.PAUSED] = "true"


def _needs_docker(patch: dict[str, Any]) -> bool:
    definitions = patch.get("definitions") or []
    paths = (str(item["path"]) for definition in definitions for item in definition["jsonPatches"])
    return any("/backend/docker" in path for path in paths)
