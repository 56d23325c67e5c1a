"""The parts of a server that its admission webhooks use."""

from __future__ import annotations

import random
from dataclasses import dataclass

from kapy.apiserver.admission.plugin import AdmissionChain
from kapy.apiserver.auth.authorization import Authorizer
from kapy.apiserver.metrics.counters import WebhookCounters
from kapy.apiserver.resources.registry import Registry
from kapy.apiserver.resources.version_converter import VersionConverter
from kapy.apiserver.store.store import Store
from kapy.apiserver.webhooks.lazy_client import LazyWebhookClient


@dataclass(frozen=True, slots=True)
class AdmissionParts:
    """The dependencies of admission webhooks. authorize: answers questions of conditions."""

    store: Store
    registry: Registry
    converter: VersionConverter
    chain: AdmissionChain
    client: LazyWebhookClient
    counters: WebhookCounters
    authorize: Authorizer
    rng: random.Random
