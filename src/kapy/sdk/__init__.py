"""Provider SDK: what a provider author imports. Everything else of kapy is private.

Two ways to use it: answer the questions of a contract (`InfraMachineProvider`), and the SDK runs
the controller; or write a controller of one's own from the parts of the runtime below.
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

__all__ = [
    "DONE",
    "Cache",
    "Change",
    "Client",
    "Clock",
    "Controller",
    "Draft",
    "Informer",
    "Listed",
    "NotYet",
    "Recorder",
    "Result",
    "Runtime",
    "conditions",
    "is_paused",
    "own_key",
    "paused_condition",
    "requeue",
    "run_phases",
]
