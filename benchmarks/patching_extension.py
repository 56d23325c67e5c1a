"""An extension that patches the templates of a Cluster as upstream's test extension does, agrees to
everything else, and the request that it is measured with."""

from __future__ import annotations

from typing import Any, Final

from kapy.hooks import (
    GENERATE_PATCHES,
    Extension,
    GeneratePatchesRequest,
    GeneratePatchesResponse,
    Response,
)
from kapy.hooks.catalog import own_catalog
from kapy.hooks.hook import AnyHook
from kapy.hooks.mutation import Template, patch_templates
from kapy.kube import Document

_ADDED: Final = {"patched": "yes"}

extension = Extension()


@extension.handles(GENERATE_PATCHES, name="generate-patches")
async def generate(request: GeneratePatchesRequest) -> GeneratePatchesResponse:
    """A patch of every template, some of them of what its variables say."""
    return patch_templates(request, _patch)


def _patch(template: Template) -> None:
    metadata = template.object["spec"]["template"].setdefault("metadata", {})
    metadata["labels"] = {**metadata.get("labels", {}), **_ADDED}
    metadata["annotations"] = {**metadata.get("annotations", {}), **_ADDED}
    if template.object["kind"] == "KubeadmControlPlaneTemplate":
        control_plane = template.variables.builtin.control_plane
        version = control_plane.version if control_plane else ""
        for part in ("initConfiguration", "joinConfiguration"):
            node = template.spec["kubeadmConfigSpec"][part]["nodeRegistration"]
            node["kubeletExtraArgs"].append({"name": "node-labels", "value": f"version={version}"})
    if template.object["kind"] == "DevClusterTemplate":
        repository = template.variables.require("imageRepository", str)
        template.spec["backend"]["docker"]["loadBalancer"]["imageRepository"] = repository


def _also(hook: AnyHook) -> None:
    @extension.handles(hook, name=hook.name.lower())
    async def agree(_: Any) -> Response:
        answer: Response = hook.response()
        return answer


for _one in own_catalog():
    if not _one.singleton and _one.name != GENERATE_PATCHES.name:
        _also(_one)


def patch_request() -> Document:
    """A request of 9 KB: the templates of a cluster of one control plane and one worker."""
    metadata = {"name": "herd", "namespace": "default", "uid": "6f3c", "labels": {}}
    cluster = {"name": "herd", "namespace": "default", "uid": "6f3c", "metadata": metadata}
    topology = {"version": "v1.34.0", "class": "meadow", "classRef": {"name": "meadow"}}
    shared = [
        {"name": "imageRepository", "value": "registry.example.com/images"},
        {"name": "files", "value": [_file("proxy"), _file("audit")]},
        {"name": "builtin", "value": {"cluster": {**cluster, "topology": topology}}},
    ]
    items = [
        _item("infrastructure", "DevClusterTemplate", "Cluster", _dev_cluster()),
        _item("controlplane", "KubeadmControlPlaneTemplate", "Cluster", _control_plane()),
        _item("infrastructure", "DevMachineTemplate", "KubeadmControlPlane", _dev_machine()),
        _item("bootstrap", "KubeadmConfigTemplate", "MachineDeployment", _kubeadm()),
        _item("infrastructure", "DevMachineTemplate", "MachineDeployment", _dev_machine()),
    ]
    return {
        "apiVersion": GENERATE_PATCHES.api_version,
        "kind": GENERATE_PATCHES.request_kind,
        "variables": shared,
        "items": [{"uid": f"{number}", **document} for number, document in enumerate(items)],
    }


def _item(group: str, kind: str, holder: str, spec: Document) -> Document:
    control_plane = {"version": "v1.34.0", "name": "herd-abcde", "replicas": 1}
    deployment = {"version": "v1.34.0", "class": "worker", "name": "herd-md-0", "replicas": 1}
    holds = holder == "MachineDeployment"
    own = {"machineDeployment": deployment} if holds else {"controlPlane": control_plane}
    reference = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": holder,
        "namespace": "default",
        "name": "herd",
        "fieldPath": "spec.template.spec.infrastructureRef",
    }
    template = {
        "apiVersion": f"{group}.cluster.x-k8s.io/v1beta2",
        "kind": kind,
        "metadata": {"name": f"herd-{kind.lower()}", "namespace": "default"},
        "spec": {"template": {"spec": spec}},
    }
    variables = [{"name": "builtin", "value": own}]
    return {"holderReference": reference, "object": template, "variables": variables}


def _dev_cluster() -> Document:
    domains = [{"name": f"zone-{number}", "controlPlane": True} for number in range(3)]
    return {"backend": {"docker": {"failureDomains": domains, "loadBalancer": {}}}}


def _dev_machine() -> Document:
    mounts = [{"containerPath": "/var/run/docker.sock", "hostPath": "/var/run/docker.sock"}]
    return {"backend": {"docker": {"customImage": "kindest/node:v1.34.0", "extraMounts": mounts}}}


def _control_plane() -> Document:
    return {"kubeadmConfigSpec": {**_kubeadm(), "initConfiguration": _joining()}}


def _kubeadm() -> Document:
    certificates = {"certificateValidityPeriodDays": 365, "apiServer": {"extraArgs": [_arg(0)]}}
    return {
        "clusterConfiguration": certificates,
        "files": [_file("containerd"), _file("sysctl"), _file("motd")],
        "joinConfiguration": _joining(),
        "preKubeadmCommands": [f"sysctl --load /etc/sysctl.d/{number}.conf" for number in range(5)],
        "users": [{"name": "herder", "sudo": "ALL=(ALL) NOPASSWD:ALL", "shell": "/bin/bash"}],
    }


def _joining() -> Document:
    return {"nodeRegistration": {"kubeletExtraArgs": [_arg(number) for number in range(4)]}}


def _arg(number: int) -> Document:
    return {"name": f"feature-gates-{number}", "value": "NodeSwap=true,UserNamespaces=true"}


def _file(name: str) -> Document:
    content = f"# settings of {name}\n" * 20
    return {"path": f"/etc/{name}/config.toml", "content": content}
