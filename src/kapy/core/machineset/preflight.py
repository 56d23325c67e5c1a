"""Preflight checks of the control plane before a MachineSet creates Machines.

The annotation `machineset.cluster.x-k8s.io/skip-preflight-checks` of the MachineSet or of its
bootstrap template skips checks by name (or `All`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from kapy.api.names import BOOTSTRAP_GROUP, Annotation
from kapy.contract.control_plane import ControlPlane
from kapy.contract.errors import ContractError
from kapy.contract.fields import View
from kapy.contract.observed import Absent, Found, Unreadable
from kapy.core.machineset.scope import MachineSetScope
from kapy.engine.result import NotYet
from kapy.kube.errors import KapyError
from kapy.kube.version import InvalidVersion, Version, parse_tolerant

ALL: Final = "All"
STABLE: Final = "ControlPlaneIsStable"
KUBERNETES_SKEW: Final = "KubernetesVersionSkew"
KUBEADM_SKEW: Final = "KubeadmVersionSkew"
CONTROL_PLANE_SKEW: Final = "ControlPlaneVersionSkew"
OLDEST: Final = 3  # minor versions that a kubelet may be older


class PreflightResult(NamedTuple):
    """The result of the preflight checks. failures: the reasons for which no Machine may be created
    now, empty if all checks passed. failure: the error that prevented the checks, which also blocks
    the creation."""

    failures: list[str]
    failure: KapyError | None = None


async def run_checks(scope: MachineSetScope, action: str) -> PreflightResult:
    """Run all checks that are not skipped. action: the blocked action, for messages."""
    try:
        return PreflightResult(await _failures(scope))
    except KapyError as error:
        reason = f'failed to perform "{action}": failed to perform preflight checks: {error}'
        return PreflightResult([reason], error)


async def _failures(scope: MachineSetScope) -> list[str]:
    wanted, ref = scope.dependencies.preflight, scope.cluster.spec.control_plane_ref
    if not wanted or ref is None:
        return []
    skipped = await _skipped_checks(scope)
    if ALL in skipped:
        return []
    result = await scope.dependencies.external.get(ref, scope.namespace, ControlPlane)
    match result:
        case Unreadable(error):
            raise error
        case Absent():
            raise NotYet(f"{ref.kind} {scope.namespace}/{ref.name} does not exist")
        case Found(control_plane):
            if control_plane.version is None:
                return []
            return [
                f'{problem} ("{check}" preflight check failed)'
                for check, problem in problems(scope, control_plane)
                if check not in skipped and (ALL in wanted or check in wanted)
            ]


def problems(scope: MachineSetScope, control_plane: ControlPlane) -> Iterator[tuple[str, str]]:
    """Return the failed checks with their messages. Raises ContractError."""
    version = ControlPlane.version.require(control_plane)
    if (problem := _instability(scope, control_plane, version)) is not None:
        yield STABLE, problem
    own = scope.machine_set.spec.template.spec.version
    if not own:
        return
    mine, theirs = _parse(own), _parse(version)
    result = f"MachineSet version ({mine}) and ControlPlane version ({theirs}) do not conform to"
    if mine.minor > theirs.minor:
        reason = "MachineSet version is higher than ControlPlane version"
        yield KUBERNETES_SKEW, f"{result} the kubernetes version skew policy as {reason}"
    elif mine.minor < theirs.minor - OLDEST:
        reason = (
            f"MachineSet version is more than {OLDEST} minor versions older than the "
            "ControlPlane version"
        )
        yield KUBERNETES_SKEW, f"{result} the kubernetes version skew policy as {reason}"
    if _uses_kubeadm(scope) and mine.minor != theirs.minor:
        reason = (
            "kubeadm only supports joining with the same major+minor version as the control plane"
        )
        yield KUBEADM_SKEW, f"{result} kubeadm version skew policy as {reason}"
    if scope.cluster.spec.topology is not None and own != version:
        yield (
            CONTROL_PLANE_SKEW,
            f"MachineSet version ({own}) is not yet the same as the ControlPlane version "
            f"({version}), waiting for version to be propagated to the MachineSet",
        )


def _instability(scope: MachineSetScope, control_plane: ControlPlane, version: str) -> str | None:
    cluster = scope.cluster
    name = f"{control_plane.kind} {scope.namespace}/{control_plane.name}"
    if cluster.spec.topology is not None:
        step = cluster.metadata.annotations.get(Annotation.TOPOLOGY_UPGRADE_STEP, "")
        if version not in (cluster.spec.topology.version, step):
            return (
                f"{name} has a pending version upgrade to {step or cluster.spec.topology.version}"
            )
    if control_plane.is_provisioning:
        return f"{name} is provisioning"
    return f"{name} is upgrading" if control_plane.is_upgrading else None


def _uses_kubeadm(scope: MachineSetScope) -> bool:
    ref = scope.machine_set.spec.template.spec.bootstrap.config_ref
    kubeadm = BOOTSTRAP_GROUP, "KubeadmConfigTemplate"
    return ref is not None and (ref.api_group, ref.kind) == kubeadm


async def _skipped_checks(scope: MachineSetScope) -> frozenset[str]:
    text = scope.machine_set.metadata.annotations.get(Annotation.SKIP_PREFLIGHT_CHECKS, "")
    ref = scope.machine_set.spec.template.spec.bootstrap.config_ref
    if not text and ref is not None:
        result = await scope.dependencies.external.get(ref, scope.namespace, View)
        if isinstance(result, Unreadable):
            raise result.error
        if isinstance(result, Found):
            annotations = result.view.document["metadata"].get("annotations") or {}
            text = annotations.get(Annotation.SKIP_PREFLIGHT_CHECKS, "")
    return frozenset(part.strip() for part in text.split(","))


def _parse(version: str) -> Version:
    try:
        return parse_tolerant(version)
    except InvalidVersion as error:
        raise ContractError(f'"{version}" is no version: {error}') from None
