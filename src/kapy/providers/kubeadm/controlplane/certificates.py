"""The cluster's certificate authorities: made once, then only looked after."""

from __future__ import annotations

from collections.abc import Mapping

from kapy.api.condition import V1Beta1Condition
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.names import ConditionType, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.api.wording import LOOK_AT_LOGS
from kapy.kube.errors import KapyError
from kapy.kube.meta import owner_reference
from kapy.kube.model import encode
from kapy.providers.kubeadm.certificates import init_certificates
from kapy.providers.kubeadm.controlplane.scope import ControlPlane
from kapy.providers.kubeadm.controlplane.tools import Tools
from kapy.sdk import Kept, Result, conditions, v1beta1


async def ensure_certificates(tools: Tools, plane: ControlPlane) -> Result | None:
    """Have the authorities, owned by the control plane.

    After initialization nothing is made any more: machines use what there was, and another
    authority in its place would cut them off.
    """
    kcp = plane.kcp
    certificates = init_certificates(encode(kcp.spec.kubeadm_config_spec.cluster_configuration))
    initialized = conditions.is_true(kcp.status.conditions, ConditionType.INITIALIZED)
    try:
        if initialized:
            kept = await tools.keychain.find(plane.cluster.key, certificates)
        else:
            owner = owner_reference(kcp, controller=True, block_deletion=True)
            kept = await tools.keychain.find_or_make(plane.cluster.key, certificates, owner)
        missing = [one.purpose for one in certificates if one.purpose not in kept]
        if not missing:
            await _own(tools, kcp, kept)
    except KapyError as error:
        plane.set(
            conditions.unknown(
                ConditionType.CERTIFICATES_AVAILABLE, Reason.INTERNAL_ERROR, LOOK_AT_LOGS
            )
        )
        plane.set_v1beta1(_unavailable_v1beta1(v1beta1.WARNING, str(error)))
        raise
    _report(plane, missing)
    return None


def _report(plane: ControlPlane, missing: list[str]) -> None:
    type_ = ConditionType.CERTIFICATES_AVAILABLE
    if not missing:
        plane.set(conditions.true(type_, Reason.AVAILABLE))
        plane.set_v1beta1(v1beta1.true(V1Beta1Type.CERTIFICATES_AVAILABLE))
        return
    noun, verb = ("certificate", "is") if len(missing) == 1 else ("certificates", "are")
    message = (
        f"Cluster {noun} for {', '.join(missing)} {verb} not available, please check cluster"
        " certificate secrets"
    )
    plane.set(conditions.false(type_, Reason.NOT_AVAILABLE, message))
    plane.set_v1beta1(_unavailable_v1beta1(v1beta1.ERROR, message))


def _unavailable_v1beta1(severity: str, message: str) -> V1Beta1Condition:
    reason = V1Beta1Reason.CERTIFICATES_GENERATION_FAILED
    return v1beta1.false(V1Beta1Type.CERTIFICATES_AVAILABLE, reason, severity, message)


async def _own(tools: Tools, kcp: KubeadmControlPlane, kept: Mapping[str, Kept]) -> None:
    owner = owner_reference(kcp, controller=True, block_deletion=True)
    for one in kept.values():
        await tools.keychain.own(one.secret, owner)
