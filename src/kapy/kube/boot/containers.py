"""Changes that upstream's docker provider makes to boot data for machines that are containers.

kubeadm ignores preflight checks that a container cannot pass, the kubelet ignores the host's disk
and swap, and kube-proxy does not change the host's sysctls.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.boot.steps import STARTED, BadBootData, BootPlan, RunCommand, Step, WriteFile
from kapy.kube.foreign_json import is_too_deep
from kapy.kube.yaml import YamlError, dump, load

PREFLIGHT_ERRORS: Final = (
    "SystemVerification",
    "Swap",
    "FileContent--proc-sys-net-bridge-bridge-nf-call-iptables",
)
"""The checks of `kubeadm init` and `join` that fail in a container."""

_INIT_FILE: Final = "/run/kubeadm/kubeadm.yaml"
_JOIN_FILE: Final = "/run/kubeadm/kubeadm-join-config.yaml"
_IGNITION_FILE: Final = "/etc/kubeadm.yml"
_IGNITION_SCRIPT: Final = "/etc/kubeadm.sh"
_KUBE_PROXY: Final = b"""
---
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
conntrack:
  # The maximum of tracked connections is a setting of the host.
  maxPerCore: 0
"""
_KUBE_PROXY_IN_USER_NAMESPACE: Final = b"""\
  # So are these, which root in a user namespace may not change.
  tcpEstablishedTimeout: 0s
  tcpCloseWaitTimeout: 0s
"""
_KINDS: Final = ("InitConfiguration", "JoinConfiguration")
_SEPARATOR: Final = re.compile(r"^---[ \t]*\n", re.MULTILINE)
_SUBCOMMANDS: Final = ("init", "join")
_OLD_KUBEADM: Final = re.compile(r"kubeadm\.k8s\.io/v1beta[123]\Z")
_CRI_SOCKET: Final = "unix:///var/run/containerd/containerd.sock"
_KUBELET: Final = {
    "image-gc-high-threshold": "100",
    "eviction-hard": "nodefs.available<0%,nodefs.inodesFree<0%,imagefs.available<0%",
    "fail-swap-on": "false",
}
_PRIVATE_CGROUPS: Final = {
    "cgroup-root": "/kubelet",
    "runtime-cgroups": "/system.slice/containerd.service",
}
_MAX_KUBEADM_CONFIG: Final = 256 << 10
"""Bytes of kubeadm's configuration, which is parsed."""
_FEATURE_GATES: Final = "feature-gates"
_IN_USER_NAMESPACE: Final = {_FEATURE_GATES: "KubeletInUserNamespace=true"}
"""The kubelet takes no notice of what it may not do there: kernel settings, /dev/kmsg."""


def for_containers(
    plan: BootPlan,
    *,
    private_cgroups: bool = True,
    user_namespace: bool = False,
    preflight_errors: Sequence[str] = PREFLIGHT_ERRORS,
) -> BootPlan:
    """Return the plan for a machine that is a container with containerd.

    private_cgroups: whether the container has a cgroup namespace of its own, as node images of kind
    0.20 and later need. user_namespace: whether root of the container is another user outside of
    it, as with a rootless engine. preflight_errors: the checks of kubeadm that are ignored, of
    cloud-config; an Ignition config ignores all. Raises BadBootData.
    """
    kubelet = {
        **_KUBELET,
        **(_PRIVATE_CGROUPS if private_cgroups else {}),
        **(_IN_USER_NAMESPACE if user_namespace else {}),
    }
    ignoring = f"--ignore-preflight-errors={','.join(preflight_errors)}"
    steps: list[Step] = []
    for step in plan.steps:
        if isinstance(step, WriteFile):
            steps.append(_file(step, kubelet, user_namespace=user_namespace))
        else:
            steps.append(_command(step, ignoring))
    return replace(plan, steps=tuple(steps))


def _file(step: WriteFile, kubelet: dict[str, str], *, user_namespace: bool) -> WriteFile:
    kube_proxy = _KUBE_PROXY + _KUBE_PROXY_IN_USER_NAMESPACE * user_namespace
    if step.path in (_INIT_FILE, _JOIN_FILE):
        content = _with_kubelet_settings(step, kubelet)
        return replace(step, content=content + kube_proxy * (step.path == _INIT_FILE))
    if step.path == _IGNITION_FILE:
        # Upstream changes no registration in an Ignition config.
        content = (
            _with_kubelet_settings(step, _IN_USER_NAMESPACE) if user_namespace else step.content
        )
        return replace(step, content=content + kube_proxy)
    if step.path == _IGNITION_SCRIPT:
        return replace(step, content=_script(step.content))
    return step


def _script(content: bytes) -> bytes:
    started = b"mkdir -p /run/cluster-api && echo started > " + STARTED.encode()
    for subcommand in (b"kubeadm init", b"kubeadm join"):
        command = started + b" && " + subcommand + b" --ignore-preflight-errors=all"
        content = content.replace(subcommand, command)
    return content


def _command(step: RunCommand, ignoring: str) -> RunCommand:
    started, argv = f"echo started > {STARTED} &&", step.argv
    if argv[:2] == ("/bin/sh", "-c") and len(argv) > 2:
        script = argv[2]
        for subcommand in _SUBCOMMANDS:
            command = f"{started} kubeadm {subcommand} {ignoring}"
            script = script.replace(f"kubeadm {subcommand}", command, 1)
        return replace(step, argv=(*argv[:2], script, *argv[3:]))
    if argv[0] == "kubeadm" and len(argv) > 1 and argv[1] in _SUBCOMMANDS:
        script = f"{started} {shlex.join(argv[:2])} {ignoring} {shlex.join(argv[2:])}".rstrip()
        return replace(step, argv=("/bin/sh", "-c", script))
    return step


def _with_kubelet_settings(step: WriteFile, kubelet: dict[str, str]) -> bytes:
    """Return kubeadm's configuration with settings of the kubelet; other YAML documents stay
    unchanged.
    """
    if len(step.content) > _MAX_KUBEADM_CONFIG:
        raise BadBootData(
            f"{step.entry}: kubeadm's configuration has {len(step.content)} bytes, more than "
            f"{_MAX_KUBEADM_CONFIG >> 10} KiB"
        )
    parts = _SEPARATOR.split(step.content.decode("utf-8", "replace"))
    changed = [_with_registration(part, kubelet, step.entry) for part in parts]
    return "---\n".join(changed).encode()


def _with_registration(text: str, kubelet: dict[str, str], entry: str) -> str:
    try:
        document = load(text)
    except YamlError as error:
        raise BadBootData(f"{entry}: kubeadm's configuration is not YAML: {error}") from error
    if is_too_deep(document):
        raise BadBootData(f"{entry}: kubeadm's configuration is nested too deeply")
    if not isinstance(document, dict) or document.get("kind") not in _KINDS:
        return text
    registration = document.get("nodeRegistration") or {}
    if not isinstance(registration, dict):
        raise BadBootData(f"{entry}: nodeRegistration of kubeadm's configuration must be a mapping")
    registered: Document = {**registration}
    registered["criSocket"] = registration.get("criSocket") or _CRI_SOCKET
    old = _OLD_KUBEADM.match(str(document.get("apiVersion"))) is not None
    arguments = registration.get("kubeletExtraArgs") or ({} if old else [])
    registered["kubeletExtraArgs"] = _arguments(arguments, kubelet, entry)
    return dump({**document, "nodeRegistration": registered})


def _arguments(arguments: Any, kubelet: dict[str, str], entry: str) -> Any:
    """Return extra arguments of the kubelet in the form of kubeadm's version: a mapping, or a list
    of names and values. Our arguments replace existing ones, as upstream's do; feature gates are
    added to existing ones.
    """
    if isinstance(arguments, dict):
        return {**arguments, **{name: _value(arguments, name, kubelet) for name in kubelet}}
    if not isinstance(arguments, list) or not all(
        isinstance(argument, dict) for argument in arguments
    ):
        raise BadBootData(f"{entry}: kubeletExtraArgs of kubeadm's configuration must be a list")
    values = {str(argument.get("name")): argument.get("value") for argument in arguments}
    ours = {name: _value(values, name, kubelet) for name in kubelet}
    others = [
        {**argument, "value": ours.get(str(argument.get("name")), argument.get("value"))}
        for argument in arguments
    ]
    added = [{"name": name, "value": ours[name]} for name in kubelet if name not in values]
    return [*others, *added]


def _value(arguments: Mapping[str, Any], name: str, kubelet: Mapping[str, str]) -> str:
    """Return the value of one of our arguments, combined with the existing arguments."""
    gates = arguments.get(name)
    return f"{gates},{kubelet[name]}" if gates and name == _FEATURE_GATES else kubelet[name]
