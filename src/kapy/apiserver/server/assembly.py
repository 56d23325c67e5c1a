"""The assembly of a server: each part gets the parts that it uses."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from kapy._aio.clock import Clock
from kapy.apiserver.admission.plugin import Admission, AdmissionChain
from kapy.apiserver.auth.authorization import Authorizer
from kapy.apiserver.auth.rbac.grants import RBACAuthorizer
from kapy.apiserver.controllers.definitions import DefinitionController, DefinitionFollower
from kapy.apiserver.metrics.counters import ServerMetrics
from kapy.apiserver.request.limits.large_requests import LargeRequestQueue
from kapy.apiserver.resources.registry import Registry
from kapy.apiserver.resources.version_converter import Convert, VersionConverter
from kapy.apiserver.store.store import Store
from kapy.apiserver.verbs.context import ServerContext
from kapy.apiserver.verbs.undefaulted import UndefaultedObjects
from kapy.apiserver.webhooks.admission_parts import AdmissionParts
from kapy.apiserver.webhooks.client_config import Services
from kapy.apiserver.webhooks.conversion_webhooks import CountedConversionWebhooks
from kapy.apiserver.webhooks.lazy_client import LazyWebhookClient
from kapy.apiserver.webhooks.webhook_source import WebhookSource


@dataclass(frozen=True, slots=True)
class ServerParts:
    """The parts from which a Server is built. grants: the RBAC authorizer, which is used unless
    `authorize` is set.
    """

    context: ServerContext
    webhook_client: LazyWebhookClient
    grants: RBACAuthorizer
    authorize: Authorizer


def assemble(
    store: Store,
    clock: Clock,
    *,
    admission: Sequence[Admission],
    convert: Convert | None,
    authorize: Authorizer | None,
    services: Services | None,
    has_kubelets: bool,
    is_replica: bool = False,
) -> ServerParts:
    """Build the parts of a server on a loaded store. is_replica: whether the server only reads."""
    registry, rng, metrics = Registry(), random.Random(), ServerMetrics()
    client = LazyWebhookClient(store, services)
    conversion_webhooks = CountedConversionWebhooks(client, metrics.hooks, rng)
    converter = VersionConverter(store, registry, convert, conversion_webhooks)
    chain = AdmissionChain(admission, converter.convert_objects)
    context = ServerContext(
        store=store,
        clock=clock,
        registry=registry,
        rng=rng,
        converter=converter,
        admission=chain,
        metrics=metrics,
        large_work=LargeRequestQueue(),
        undefaulted=UndefaultedObjects(),
        has_kubelets=has_kubelets,
    )
    grants = RBACAuthorizer(store)
    store.listeners.append(metrics.count_write)
    if is_replica:
        DefinitionFollower(context)
        grants.defaults = False  # the default roles are in the store
        return ServerParts(context, client, grants, authorize or grants)
    DefinitionController(context)
    WebhookSource(
        AdmissionParts(
            store=store,
            registry=registry,
            converter=converter,
            chain=chain,
            client=client,
            counters=metrics.hooks,
            authorize=authorize or grants,
            rng=rng,
        )
    )
    return ServerParts(context, client, grants, authorize or grants)
