"""Certificates of a control plane: CAs, the kubeconfig Secret, and the expiry of API server
certificates.

CAs are created once, and then only checked. The kubeconfig is renewed at half of the lifetime of
its certificate. The expiry of the API server certificate of each Machine is recorded on its
KubeadmConfig.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from kapy.api.condition import V1Beta1Condition
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.names import Annotation, ConditionType, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.api.times import stamp
from kapy.api.wording import LOOK_AT_LOGS
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.meta import owner_reference
from kapy.kube.model import encode
from kapy.kube.pki import Algorithm
from kapy.providers.kubeadm.bootstrap.discovery import endpoint_of
from kapy.providers.kubeadm.certificates import Certificate, init_certificates
from kapy.providers.kubeadm.controlplane.dependencies import Dependencies
from kapy.providers.kubeadm.controlplane.scope import ControlPlane, has_node, is_true, node_name
from kapy.remote.cluster_cache import Kubeconfig
from kapy.remote.kubeconfig_secret import access
from kapy.remote.secrets import (
    CLUSTER_CA,
    CLUSTER_NAME_LABEL,
    ETCD_CA,
    FRONT_PROXY_CA,
    KUBECONFIG,
    KUBECONFIG_VALUE,
    PRIVATE_KEY,
    SERVICE_ACCOUNT,
    BadSecret,
    UnusableSecrets,
    is_watched,
    secret_problem,
)
from kapy.sdk import DONE, NotYet, Result, conditions, requeue, v1beta1
from kapy.sdk.certificates import StoredCertificate

_RETRY_INTERVAL: Final = timedelta(seconds=30)
_WHY_A_KEY: Final = {
    CLUSTER_CA: "which signs the cluster's certificates and kubeconfig",
    ETCD_CA: "which signs the certificates of etcd's members and clients",
    FRONT_PROXY_CA: "which signs the API server's certificate for aggregated API servers",
    SERVICE_ACCOUNT: "which signs the tokens of ServiceAccounts",
}
_KEY_ELSEWHERE: Final = (
    "where the keys are kept elsewhere, the Secret with the kubeconfig must be provided too"
)


async def ensure_certificates(dependencies: Dependencies, plane: ControlPlane) -> Result | None:
    """Ensure the CAs, owned by the control plane.

    CAs of a user are checked before anything uses them. After initialization no CA is created any
    more, because machines with the old one would lose their connection.
    """
    kcp = plane.kcp
    initialized = conditions.is_true(kcp.status.conditions, ConditionType.INITIALIZED)
    try:
        missing = await (_check if initialized else _create)(dependencies, plane)
    except UnusableSecrets as error:
        plane.has_unwatched_secrets = not error.is_watched
        _report_unusable(plane, error)
        return None if initialized else _wait_for_correction(error)
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


async def _check(dependencies: Dependencies, plane: ControlPlane) -> list[str]:
    """Return the purposes of missing certificates. Raises UnusableSecrets."""
    certificates = _certificates(plane.kcp)
    stored = await dependencies.certificates.find(plane.cluster.key, certificates)
    missing = [
        certificate.purpose for certificate in certificates if certificate.purpose not in stored
    ]
    plane.has_unwatched_secrets = bool(missing) or not all(
        is_watched(certificate.secret) for certificate in stored.values()
    )
    if not missing:
        await _set_controller(dependencies, plane.kcp, stored)
    return missing


async def _create(dependencies: Dependencies, plane: ControlPlane) -> list[str]:
    """Create the missing certificates. Raises UnusableSecrets."""
    certificates, cluster = _certificates(plane.kcp), plane.cluster.key
    kubeconfig = await dependencies.certificates.secret(cluster, KUBECONFIG)
    there = await dependencies.certificates.find(cluster, certificates)
    problems = [] if kubeconfig is None else _kubeconfig_problems(dependencies, kubeconfig, cluster)
    if kubeconfig is None:
        problems += [
            secret_problem(value.secret, _missing_key(certificate))
            for certificate in certificates
            if (value := there.get(certificate.purpose)) is not None
            and not (value.pair.key or certificate.external)
        ]
    if problems:
        secrets = [certificate.secret for certificate in there.values()] + (
            [kubeconfig] if kubeconfig else []
        )
        raise UnusableSecrets(problems, is_watched=all(map(is_watched, secrets)))
    owner = owner_reference(plane.kcp, controller=True, block_deletion=True)
    missing = [certificate for certificate in certificates if certificate.purpose not in there]
    await _set_controller(
        dependencies,
        plane.kcp,
        there | await dependencies.certificates.create(cluster, missing, owner),
    )
    return []


def _missing_key(certificate: Certificate) -> str:
    why = _WHY_A_KEY[certificate.purpose]
    return f"missing data for key {PRIVATE_KEY}, {why}; {_KEY_ELSEWHERE}"


def _kubeconfig_problems(dependencies: Dependencies, secret: Document, cluster: Key) -> list[str]:
    """Return the problems of a user's kubeconfig Secret. Clients read it, and find it by its label
    only.
    """
    key, problems = Key.of(secret), list[str]()
    try:
        _access_of(dependencies, cluster, secret)
    except BadSecret as error:
        problem = str(error).removeprefix(f"Secret {key}: ")
        if KUBECONFIG_VALUE in (secret.get("data") or {}):
            problem = f"the kubeconfig in {KUBECONFIG_VALUE} cannot be used: {problem}"
        problems.append(f"Secret {key}: {problem}")
    if not is_watched(secret):
        label = f"{CLUSTER_NAME_LABEL}: {cluster.name}"
        problems.append(f"Secret {key}: the label {label} is missing, by which it is found")
    return problems


def _certificates(kcp: KubeadmControlPlane) -> list[Certificate]:
    return init_certificates(encode(kcp.spec.kubeadm_config_spec.cluster_configuration))


def _report_unusable(plane: ControlPlane, error: UnusableSecrets) -> None:
    lines = "\n".join(f"* {problem}" for problem in error.problems)
    message = f"Secrets of the cluster cannot be used:\n{lines}"
    type_ = ConditionType.CERTIFICATES_AVAILABLE
    plane.set(conditions.false(type_, Reason.NOT_AVAILABLE, message))
    plane.set_v1beta1(_unavailable_v1beta1(v1beta1.ERROR, message))


def _wait_for_correction(error: UnusableSecrets) -> Result:
    """Wait until the Secrets are corrected, with a timer where they are not watched."""
    if error.is_watched:
        return DONE
    return requeue(
        after=_RETRY_INTERVAL, because="Secrets without the cluster's label are not watched"
    )


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


async def _set_controller(
    dependencies: Dependencies, kcp: KubeadmControlPlane, stored: Mapping[str, StoredCertificate]
) -> None:
    owner = owner_reference(kcp, controller=True, block_deletion=True)
    for certificate in stored.values():
        await dependencies.certificates.set_controller(certificate.secret, owner)


async def record_expiries(dependencies: Dependencies, plane: ControlPlane) -> Result | None:
    """Record the expiry of each API server's certificate once, when the API server is healthy.

    It is not recorded without a means to query it. While a Machine joins, its API server's Pod does
    not exist yet; the Pod is watched, so its change enqueues the control plane.
    """
    ask = dependencies.certificate_expiry
    if ask is None or not plane.is_initialized:
        return None
    for machine in plane.machines:
        config = plane.configs.get(machine.metadata.name)
        if machine.deleting or config is None or not has_node(machine):
            continue
        if not is_true(machine, ConditionType.API_SERVER_POD_HEALTHY):
            continue
        if Annotation.CERTIFICATES_EXPIRY in config.metadata.annotations:
            continue
        access = await cluster_access(dependencies, plane.cluster.key)
        expiry = stamp(await ask(access, node_name(machine)))
        patch = {"metadata": {"annotations": {Annotation.CERTIFICATES_EXPIRY: expiry}}}
        await dependencies.runtime.client.patch(KubeadmConfig.RESOURCE, config.key, patch)
    return None


async def ensure_kubeconfig(dependencies: Dependencies, plane: ControlPlane) -> Result | None:
    """Ensure the Secret, owned by the control plane unless a user created it."""
    renewal = await dependencies.kubeconfigs.issue(
        plane.cluster.key,
        f"https://{endpoint_of(plane.cluster)}",
        owner_reference(plane.kcp, controller=True, block_deletion=True),
        algorithm=algorithm(plane.kcp),
    )
    if renewal is not None:
        # A timer, because the end of a certificate is no event.
        after = max(renewal - plane.now, timedelta(seconds=1))
        plane.requeue_by(
            requeue(after=after, because="the kubeconfig's certificate is to be renewed")
        )
    return None


async def cluster_access(dependencies: Dependencies, cluster: Key) -> Kubeconfig:
    """Return the access to the workload cluster. Raises NotYet, BadSecret."""
    secret = await dependencies.certificates.secret(cluster, KUBECONFIG)
    if secret is None:
        raise NotYet(f"the kubeconfig Secret of Cluster {cluster} is not there yet")
    return _access_of(dependencies, cluster, secret)


def _access_of(dependencies: Dependencies, cluster: Key, secret: Document) -> Kubeconfig:
    """Return the access in a Secret, parsed once for each version. Raises BadSecret."""
    version = secret["metadata"]["resourceVersion"]
    entry = dependencies.cache.kubeconfigs.get(cluster)
    if entry is None or entry[0] != version:
        entry = dependencies.cache.kubeconfigs[cluster] = version, access(secret)
    return entry[1]


def algorithm(kcp: KubeadmControlPlane) -> Algorithm:
    """Return the key algorithm that the control plane specifies."""
    request = kcp.spec.kubeadm_config_spec.cluster_configuration.encryption_algorithm
    algorithms: dict[str, Algorithm] = {
        "RSA-3072": "RSA-3072",
        "RSA-4096": "RSA-4096",
        "ECDSA-P256": "ECDSA-P256",
        "ECDSA-P384": "ECDSA-P384",
    }
    return algorithms.get(request, "RSA-2048")
