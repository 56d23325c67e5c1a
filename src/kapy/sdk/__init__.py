"""Provider SDK: what a provider author imports. Everything else of kapy is private.

Two ways to use it: answer the questions of a contract (`InfraMachineProvider`,
`InfraClusterProvider`), and the SDK runs the controller; or write a controller of one's own from
the parts of the runtime below.
"""

from kapy import conditions
from kapy._aio.clock import Clock
from kapy.client.client import Client, Listed
from kapy.conditions.paused import is_paused, paused_condition
from kapy.engine.cache import Cache, Change, Informer
from kapy.engine.controller import Controller, own_key
from kapy.engine.draft import Draft
from kapy.engine.events import Recorder
from kapy.engine.failure import NotYet
from kapy.engine.phases import run_phases
from kapy.engine.result import DONE, Result, requeue
from kapy.engine.runtime import Runtime
from kapy.sdk.answers import (
    Address,
    ClusterProvisioned,
    Endpoint,
    Provisioned,
    Released,
    Waiting,
)
from kapy.sdk.infra_cluster import ClusterOrder, InfraClusterProvider
from kapy.sdk.infra_cluster_controller import add_infra_cluster
from kapy.sdk.infra_machine import InfraMachineProvider, MachineOrder
from kapy.sdk.infra_machine_controller import add_infra_machine

__all__ = [
    "DONE",
    "Address",
    "Cache",
    "Change",
    "Client",
    "Clock",
    "ClusterOrder",
    "ClusterProvisioned",
    "Controller",
    "Draft",
    "Endpoint",
    "Informer",
    "InfraClusterProvider",
    "InfraMachineProvider",
    "Listed",
    "MachineOrder",
    "NotYet",
    "Provisioned",
    "Recorder",
    "Released",
    "Result",
    "Runtime",
    "Waiting",
    "add_infra_cluster",
    "add_infra_machine",
    "conditions",
    "is_paused",
    "own_key",
    "paused_condition",
    "requeue",
    "run_phases",
]
