"""The reconciler of KubeadmConfigs, and its phase."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.names import ConditionType, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.providers.kubeadm.bootstrap import generation
from kapy.providers.kubeadm.bootstrap.discovery import NoEndpoint
from kapy.providers.kubeadm.bootstrap.scope import (
    ConfigOwner,
    Dependencies,
    Scope,
    owner_reference_of,
    owning_machine,
    owning_pool,
)
from kapy.remote.cluster_cache import ATTEMPTS, NotConnected
from kapy.sdk import (
    DONE,
    Result,
    conditions,
    requeue,
    v1beta1,
)
from kapy.sdk.controllers import Draft, Reconciler, paused_condition, report_pause

log = logging.getLogger(__name__)

_CONNECTION_INTERVAL: Final = timedelta(seconds=15)


async def ensure_boot_data(scope: Scope) -> Result:
    """Create the boot data, and keep their token valid. A missing connection is a wait."""
    try:
        return await _boot_data(scope)
    except NotConnected as error:
        scope.is_connected = False
        return _report_missing_connection(scope, error)


async def _boot_data(scope: Scope) -> Result:
    config, cluster = scope.config, scope.cluster
    await scope.dependencies.data_secrets.keep_owned(config)
    if not cluster.status.initialization.infrastructure_provisioned:
        scope.data_not_available(
            "Waiting for Cluster status.infrastructureReady to be true",
            V1Beta1Reason.WAITING_FOR_CLUSTER_INFRASTRUCTURE,
        )
        return DONE
    secret_name = scope.owner.data_secret
    created = bool(config.status.initialization.data_secret_created)
    if secret_name is not None and not (created and config.status.data_secret_name):
        # A move or a restore lost our status; the Machine remembers.
        generation.report_data_secret(scope, secret_name)
        scope.certificates_were_available()
        return DONE
    if created:
        scope.data_available()
        scope.certificates_were_available()
        return await _keep_token(scope)
    initialized = ConditionType.CONTROL_PLANE_INITIALIZED
    if not conditions.is_true(cluster.status.conditions, initialized):
        return await _before_initialization(scope)
    await scope.dependencies.lock.release(cluster)
    join = generation.join_worker
    if scope.owner.is_control_plane:
        join = generation.join_control_plane
    await join(scope)
    return _next_token_check(scope)


async def _before_initialization(scope: Scope) -> Result:
    lock = scope.dependencies.lock
    if not scope.owner.is_control_plane or not await lock.acquire(scope.cluster, scope.owner.name):
        _report_waiting(scope)
        return DONE
    try:
        await generation.init(scope)
    except Exception:
        # A cancelled reconcile keeps the lock, and acquires it again later: an error of the release
        # would replace the cancellation.
        await lock.release(scope.cluster)
        _report_waiting(scope)
        raise
    return DONE


def _report_waiting(scope: Scope) -> None:
    """Report that the config waits, unless a more specific reason was reported."""
    reported = scope.config.status.conditions
    if not conditions.has(reported, ConditionType.DATA_SECRET_AVAILABLE):
        scope.data_not_available(
            "Waiting for Cluster control plane to be initialized",
            V1Beta1Reason.WAITING_FOR_CONTROL_PLANE_AVAILABLE,
        )


def _report_missing_connection(scope: Scope, error: NotConnected) -> Result:
    """Report what the boot data waits for, unless the connection may be there at any moment."""
    if scope.config.status.initialization.data_secret_created:
        return DONE
    failures = scope.dependencies.remote.health(scope.cluster.key).failures
    if failures < ATTEMPTS and not isinstance(error, NoEndpoint):
        # A timer, because the last of several attempts is no event.
        return requeue(after=_CONNECTION_INTERVAL, because="there is no connection yet")
    message = f"Waiting for the connection to the workload cluster: {error}"
    type_ = ConditionType.DATA_SECRET_AVAILABLE
    if conditions.message_of(scope.config.status.conditions, type_) != message:
        log.warning("KubeadmConfig %s: %s", scope.config.key, message)
    scope.data_not_available(message, V1Beta1Reason.WAITING_FOR_CONTROL_PLANE_AVAILABLE)
    return DONE


async def _keep_token(scope: Scope) -> Result:
    """Renew the token until the machines' Nodes exist.

    A pool may grow at any time: when all its Nodes exist, its boot data gets a new token before
    half of the old one's lifetime has passed.
    """
    token = scope.config.spec.join_configuration.discovery.bootstrap_token.token
    if not token:
        return DONE
    tokens, owner = scope.dependencies.tokens, scope.owner
    if owner.has_nodes and not owner.is_pool:
        tokens.forget(token)
        return DONE
    client = scope.dependencies.remote.client(scope.cluster.key)
    try:
        if not owner.has_nodes:
            await tokens.refresh(client, token, scope.workload_now)
        elif await tokens.is_past_half(client, token, scope.workload_now):
            await _rotate(scope)
    except NotFound:
        if not owner.is_pool:
            raise
        await _rotate(scope)
    return _next_token_check(scope)


async def _rotate(scope: Scope) -> None:
    """Generate boot data with a new token; existing machines are not affected."""
    discovery = scope.config.spec.join_configuration.discovery.bootstrap_token
    scope.dependencies.tokens.forget(discovery.token)
    discovery.token = ""
    await generation.join_worker(scope)


def _next_token_check(scope: Scope) -> Result:
    if not scope.config.spec.join_configuration.discovery.bootstrap_token.token:
        return DONE
    # A timer, because a token's end is no event.
    interval = scope.dependencies.tokens.check_interval
    return requeue(after=interval, because="the bootstrap token must not run out before it is used")


def _summarize(scope: Scope) -> None:
    config = scope.config
    merge = conditions.Merge(
        reason=conditions.reasons(Reason.NOT_READY, Reason.READY_UNKNOWN, Reason.READY)
    )
    types = (ConditionType.DATA_SECRET_AVAILABLE, ConditionType.CERTIFICATES_AVAILABLE)
    scope.set(conditions.summary(config, ConditionType.READY, types, merge=merge))
    legacy = (V1Beta1Type.DATA_SECRET_AVAILABLE, V1Beta1Type.CERTIFICATES_AVAILABLE)
    scope.set_v1beta1(v1beta1.summary(v1beta1.conditions_of(config), legacy))


class KubeadmConfigReconciler(Reconciler[KubeadmConfig, Scope]):
    """Reconciles KubeadmConfigs."""

    normal = (ensure_boot_data,)

    def __init__(self, dependencies: Dependencies) -> None:
        cache = dependencies.runtime.cache
        super().__init__(KubeadmConfig, cache.informer(KubeadmConfig), dependencies.runtime.client)
        self.dependencies = dependencies
        self._machines = cache.informer(Machine)
        self._pools = cache.informer(MachinePool)
        self._clusters = cache.informer(Cluster)

    async def begin(self, draft: Draft[KubeadmConfig]) -> Scope | Result:
        """Return the scope; DONE while the owner or the Cluster is missing, which are watched."""
        namespace = draft.object.metadata.namespace
        owner = self._owner(namespace, draft.before)
        cluster = None if owner is None else self._clusters.get(Key(namespace, owner.cluster))
        if owner is None or cluster is None:
            return DONE
        return Scope(self.dependencies, draft, owner, cluster)

    def pause(self, scope: Scope) -> bool:
        return report_pause(scope.config, scope.cluster, scope.now)

    def delays_status(self, scope: Scope) -> bool:
        """Return False for the report of a missing connection, which is logged once."""
        return scope.is_connected

    def set_status(self, scope: Scope) -> Result:
        scope.set(paused_condition(scope.config, scope.cluster))
        _summarize(scope)
        return DONE

    def _owner(self, namespace: str, config: Document) -> ConfigOwner | None:
        """Return the owner, None while it is not seen: the cache may still hold a former object of
        the same name, whose boot data is not ours.
        """
        kind, name, uid = owner_reference_of(config)
        if kind == MachinePool.RESOURCE.kind:
            pool = self._pools.get(Key(namespace, name))
            return owning_pool(pool) if pool is not None and pool.metadata.uid == uid else None
        machine = self._machines.get(Key(namespace, name)) if kind else None
        if machine is None or machine.metadata.uid != uid:
            return None
        return owning_machine(machine)
