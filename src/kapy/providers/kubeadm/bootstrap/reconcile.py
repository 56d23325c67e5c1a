"""From a KubeadmConfig to boot data: the order of things."""

from __future__ import annotations

from kapy.api.cluster import Cluster
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.machine import Machine
from kapy.api.names import ConditionType, Reason
from kapy.kube import Document, Key
from kapy.kube.names import split_api_version
from kapy.providers.kubeadm.bootstrap import data_secret, generation
from kapy.providers.kubeadm.bootstrap.scope import Scope, Tools
from kapy.remote.connections import NotConnected
from kapy.sdk import (
    DONE,
    Draft,
    Result,
    conditions,
    is_paused,
    paused_condition,
    requeue,
)


class Reconciler:
    """Reconciles KubeadmConfigs."""

    def __init__(self, tools: Tools) -> None:
        self.tools = tools
        cache = tools.runtime.cache
        self._configs = cache.informer(KubeadmConfig)
        self._machines = cache.informer(Machine)
        self._clusters = cache.informer(Cluster)

    async def reconcile(self, key: Key) -> Result:
        """Bring one KubeadmConfig forward."""
        scope = self._scope(key)
        if scope is None:
            return DONE
        config = scope.config
        failure: Exception | None = None
        result = DONE
        paused = is_paused(config, scope.cluster)
        if not (paused or config.deleting):
            try:
                result = await _boot_data(scope)
            except Exception as error:
                failure = error
        # Conditions come last: what is saved on the way then needs no second write for them.
        scope.set(paused_condition(config, scope.cluster))
        if not paused:
            _sum_up(scope, failed=failure is not None)
        await scope.draft.save()
        if failure is not None and not isinstance(failure, NotConnected):
            raise failure
        return result

    def _scope(self, key: Key) -> Scope | None:
        """None while something is missing that will wake us when it comes."""
        document = self._configs.raw(key)
        if document is None:
            return None
        owner = _owning_machine(document)
        machine = self._machines.get(Key(key.namespace, owner)) if owner else None
        if machine is None:
            return None
        cluster = self._clusters.get(Key(key.namespace, machine.spec.cluster_name))
        if cluster is None:
            return None
        draft = Draft(self.tools.runtime.client, KubeadmConfig, document)
        return Scope(self.tools, draft, machine, cluster)


async def _boot_data(scope: Scope) -> Result:
    config, cluster = scope.config, scope.cluster
    await data_secret.keep_owned(scope)
    if not cluster.status.initialization.infrastructure_provisioned:
        scope.data_not_available("Waiting for Cluster status.infrastructureReady to be true")
        return DONE
    known = scope.machine.spec.bootstrap.data_secret_name
    created = bool(config.status.initialization.data_secret_created)
    if known is not None and not (created and config.status.data_secret_name):
        # A move or a restore lost our status; the Machine remembers.
        data_secret.available(scope, known)
        scope.certificates_available()
        return DONE
    if created:
        scope.data_available()
        scope.certificates_available()
        return await _keep_token(scope)
    if config.spec.format == data_secret.IGNITION:
        scope.data_not_available("spec.format ignition is not supported, use cloud-config")
        return DONE
    initialized = ConditionType.CONTROL_PLANE_INITIALIZED
    if not conditions.is_true(cluster.status.conditions, initialized):
        return await _before_initialization(scope)
    await scope.tools.lock.release(cluster)
    await (generation.join_control_plane if scope.is_control_plane else generation.join_worker)(
        scope
    )
    return _next_token_check(scope)


async def _before_initialization(scope: Scope) -> Result:
    lock = scope.tools.lock
    if not scope.is_control_plane or not await lock.take(scope.cluster, scope.machine):
        _report_waiting(scope)
        return DONE
    try:
        await generation.init(scope)
    except BaseException:
        await lock.release(scope.cluster)
        _report_waiting(scope)
        raise
    return DONE


def _report_waiting(scope: Scope) -> None:
    """Unless something more telling was reported."""
    reported = scope.config.status.conditions
    if not conditions.has(reported, ConditionType.DATA_SECRET_AVAILABLE):
        scope.data_not_available("Waiting for Cluster control plane to be initialized")


async def _keep_token(scope: Scope) -> Result:
    """Until the machine's node is there, its token must not run out."""
    token = scope.config.spec.join_configuration.discovery.bootstrap_token.token
    if not token:
        return DONE
    tokens = scope.tools.tokens
    if scope.machine.status.node_ref is not None:
        tokens.forget(token)
        return DONE
    await tokens.refresh(scope.tools.remote.client(scope.cluster.key), token, scope.now)
    return _next_token_check(scope)


def _next_token_check(scope: Scope) -> Result:
    if not scope.config.spec.join_configuration.discovery.bootstrap_token.token:
        return DONE
    # A timer, because a token's end is no event.
    every = scope.tools.tokens.check_every
    return requeue(after=every, because="the bootstrap token must not run out before it is used")


def _sum_up(scope: Scope, *, failed: bool) -> None:
    config = scope.config
    merge = conditions.Merge(
        reason=conditions.reasons(Reason.NOT_READY, Reason.READY_UNKNOWN, Reason.READY)
    )
    types = (ConditionType.DATA_SECRET_AVAILABLE, ConditionType.CERTIFICATES_AVAILABLE)
    scope.set(conditions.summary(config, ConditionType.READY, types, merge=merge))
    if not failed:
        config.status.observed_generation = config.metadata.generation


def _owning_machine(config: Document) -> str:
    """The name of the Machine that owns a KubeadmConfig, "" while none does."""
    for reference in config["metadata"].get("ownerReferences") or []:
        group, _ = split_api_version(reference["apiVersion"])
        if (group, reference["kind"]) == (Machine.RESOURCE.group, Machine.RESOURCE.kind):
            return str(reference["name"])
    return ""
