"""Parts of controllers that a provider has beside those of the contracts.

    informer = runtime.cache.informer(HOSTS)
    controller = runtime.add(Controller("host", reconcile), informer)
    controller.watch(informer, own_key, debounce=STATUS_DEBOUNCE)

A reconcile reads an object of the informer, changes a `Draft` of it, and saves the draft. A
`Reconciler` does so in the order of steps that all controllers of kapy have.
`BY_CLUSTER` is an index of the objects of `add_infra_machine` and `add_infra_machine_pool` by their
Cluster: `informer.list_by_index(BY_CLUSTER, str(cluster))`.
"""

from kapy._aio.clock import Clock
from kapy.conditions.paused import is_paused, paused_condition, report_pause
from kapy.contract.external import owner_keys
from kapy.contract.predicates import unblocking_only
from kapy.engine.cache import Change, Informer
from kapy.engine.controller import AGGREGATE_DEBOUNCE, STATUS_DEBOUNCE, own_key
from kapy.engine.draft import Draft
from kapy.engine.events import Recorder
from kapy.engine.reconciler import Phase, Reconciler
from kapy.engine.status_writes import StatusDelay
from kapy.sdk.infra_machine_watches import BY_CLUSTER

__all__ = [
    "AGGREGATE_DEBOUNCE",
    "BY_CLUSTER",
    "STATUS_DEBOUNCE",
    "Change",
    "Clock",
    "Draft",
    "Informer",
    "Phase",
    "Reconciler",
    "Recorder",
    "StatusDelay",
    "is_paused",
    "own_key",
    "owner_keys",
    "paused_condition",
    "report_pause",
    "unblocking_only",
]
