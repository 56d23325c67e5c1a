"""Generates the boot data of machines that run `kubeadm init` or `kubeadm join`, and stores it in
the Secret for the infrastructure provider.

Values that are added to the KubeadmConfig (above all the token) are written before the boot data
that uses them, so an interrupted attempt continues with the same values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kapy.api.cluster import NetworkRanges
from kapy.api.core_v1 import Taint
from kapy.api.kubeadm_node import JoinControlPlane
from kapy.api.names_v1beta1 import V1Beta1Reason
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.meta import owner_reference
from kapy.kube.model import encode
from kapy.kube.pki import KeyPair
from kapy.providers.kubeadm.bootstrap import cloudinit, ignition
from kapy.providers.kubeadm.bootstrap.cloudinit import MachineSetup
from kapy.providers.kubeadm.bootstrap.discovery import complete_join, endpoint_of
from kapy.providers.kubeadm.bootstrap.machine_setup import machine_setup
from kapy.providers.kubeadm.bootstrap.scope import Scope
from kapy.providers.kubeadm.certificates import (
    Certificate,
    certificate_files,
    ensure_complete,
    init_certificates,
    join_certificates,
    worker_certificates,
)
from kapy.providers.kubeadm.configuration import (
    ClusterFacts,
    cluster_configuration_file,
    init_configuration_file,
    join_configuration_file,
)
from kapy.remote.secrets import CLUSTER_CA
from kapy.sdk import BootstrapData, v1beta1

UNINITIALIZED: Final = Taint(key="node.cluster.x-k8s.io/uninitialized", effect="NoSchedule")
"""Keeps workloads from a node until the core has labelled it."""

_CLOUD_CONFIG: Final = "cloud-config"
_IGNITION: Final = "ignition"


class NotAWorker(KapyError):
    """A worker's KubeadmConfig is one of a control plane machine."""


async def init(scope: Scope) -> None:
    """Boot data of the machine that runs `kubeadm init`."""
    spec, version = scope.config.spec, scope.owner.version
    if not spec.cluster_configuration.control_plane_endpoint:
        spec.cluster_configuration.control_plane_endpoint = endpoint_of(scope.cluster)
    configuration = encode(spec.cluster_configuration)
    cluster_file = cluster_configuration_file(configuration, version, _cluster_facts(scope))
    init_file = init_configuration_file(encode(spec.init_configuration), version)
    await scope.draft.save()
    certificates = init_certificates(configuration)
    pairs = await _init_pairs(scope, certificates)
    scope.certificates_available()
    setup = await machine_setup(scope, certificate_files(certificates, pairs))
    if spec.format == _IGNITION:
        data = await _ignition(scope, setup, cluster_file, init_file)
    else:
        data = cloudinit.init_control_plane(setup, cluster_file, init_file)
    await _store(scope, data)


async def join_control_plane(scope: Scope) -> None:
    """Boot data of another control plane machine."""
    join = scope.config.spec.join_configuration
    if join.control_plane is None:
        join.control_plane = JoinControlPlane()
    certificates = join_certificates(encode(scope.config.spec.cluster_configuration))
    pairs = await _join_pairs(scope, certificates)
    await _prepare_join(scope, pairs)
    file = join_configuration_file(encode(join), scope.owner.version)
    setup = await machine_setup(scope, certificate_files(certificates, pairs))
    if scope.config.spec.format == _IGNITION:
        data = await _ignition(scope, setup, file)
    else:
        data = cloudinit.join_control_plane(setup, file)
    await _store(scope, data)


async def join_worker(scope: Scope) -> None:
    """Boot data of a worker. Raises NotAWorker."""
    join = scope.config.spec.join_configuration
    pairs = await _join_pairs(scope, worker_certificates(join.ca_cert_path))
    await _prepare_join(scope, pairs)
    if join.control_plane is not None:
        raise NotAWorker(
            "Machine is a Worker, but JoinConfiguration.ControlPlane is set in the KubeadmConfig"
            " object"
        )
    configuration = _with_uninitialized_taint(encode(join))
    file = join_configuration_file(configuration, scope.owner.version)
    setup = await machine_setup(scope, ())
    if scope.config.spec.format == _IGNITION:
        data = await _ignition(scope, setup, file)
    else:
        data = cloudinit.join_worker(setup, file)
    await _store(scope, data)


async def _ignition(scope: Scope, setup: MachineSetup, *configuration: str) -> str:
    additions = encode(scope.config.spec.ignition.container_linux_config)
    try:
        return await ignition.user_data(setup, additions, *configuration)
    except (ignition.CannotRender, ignition.CannotTranslate) as error:
        # The conditions are upstream's, which do not give the reason.
        recorder = scope.dependencies.runtime.events.for_component("kubeadmconfig-controller")
        recorder.warning(scope.config, "BootstrapDataFailed", str(error))
        raise


async def _init_pairs(scope: Scope, certificates: Sequence[Certificate]) -> dict[str, KeyPair]:
    """Return the key pairs of the CAs for `kubeadm init`. If the Cluster has a control plane
    object, its controller creates and checks them. For a standalone machine they are created here,
    and hardly checked, as in upstream.
    """
    keychain, cluster = scope.dependencies.certificates, scope.cluster
    try:
        if cluster.spec.control_plane_ref is not None:
            stored = await keychain.find(cluster.key, certificates, checked=False)
        else:
            owner = owner_reference(scope.config, controller=True, block_deletion=True)
            stored = await keychain.find_or_create(cluster.key, certificates, owner, checked=False)
    except KapyError as error:
        reason = V1Beta1Reason.CERTIFICATES_GENERATION_FAILED
        scope.certificates_unknown(reason, v1beta1.WARNING, error)
        raise
    return {purpose: certificate.pair for purpose, certificate in stored.items()}


async def _join_pairs(scope: Scope, certificates: Sequence[Certificate]) -> dict[str, KeyPair]:
    try:
        keychain = scope.dependencies.certificates
        stored = await keychain.find(scope.cluster.key, certificates, checked=False)
        pairs = {purpose: certificate.pair for purpose, certificate in stored.items()}
        ensure_complete(certificates, pairs)
    except KapyError as error:
        reason = V1Beta1Reason.CERTIFICATES_CORRUPTED
        scope.certificates_unknown(reason, v1beta1.ERROR, error)
        raise
    return pairs


async def _prepare_join(scope: Scope, pairs: dict[str, KeyPair]) -> None:
    try:
        await complete_join(scope, pairs[CLUSTER_CA])
        await scope.draft.save_spec()
    finally:
        # Afterwards, so that the condition has the generation of the object just written.
        scope.certificates_available()


def _with_uninitialized_taint(join: Document) -> Document:
    """Return the JoinConfiguration with the taint of uninitialized Nodes, which the KubeadmConfig
    does not have."""
    registration = join.get("nodeRegistration") or {}
    taints = registration.get("taints") or []
    wanted = encode(UNINITIALIZED)
    if any(all(taint.get(k) == v for k, v in wanted.items()) for taint in taints):
        return join
    return {**join, "nodeRegistration": {**registration, "taints": [*taints, wanted]}}


def _cluster_facts(scope: Scope) -> ClusterFacts:
    """Return the facts of Cluster and Machine that kubeadm's ClusterConfiguration contains."""
    network = scope.cluster.spec.cluster_network
    timeouts = scope.config.spec.init_configuration.timeouts
    return ClusterFacts(
        kubernetes_version=scope.owner.version or None,
        cluster_name=scope.cluster.metadata.name,
        dns_domain=network.service_domain or None,
        service_subnet=_cidr_list(network.services),
        pod_subnet=_cidr_list(network.pods),
        health_check_seconds=timeouts.control_plane_component_health_check_seconds,
    )


def _cidr_list(ranges: NetworkRanges | None) -> str | None:
    return ",".join(ranges.cidr_blocks) or None if ranges is not None else None


async def _store(scope: Scope, data: str) -> None:
    """Write the boot data Secret, and report it in the KubeadmConfig.

    The Secret may exist from an attempt that failed before the report.
    """
    config = scope.config
    bootstrap_data = BootstrapData(value=data.encode(), format=config.spec.format or _CLOUD_CONFIG)
    await scope.dependencies.data_secrets.store(
        config, scope.cluster.key, bootstrap_data, renew=True
    )
    report_data_secret(scope, config.metadata.name)


def report_data_secret(scope: Scope, name: str) -> None:
    """Report the Secret in the KubeadmConfig's status."""
    status = scope.config.status
    status.data_secret_name = name
    status.initialization.data_secret_created = True
    scope.data_available()
