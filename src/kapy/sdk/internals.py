"""Parts of the engine and of the contracts for in-tree code that predates the SDK.

Not public. Providers use `kapy.sdk`. What a provider needs of this module is a gap in the SDK: the
kubeadm provider still imports it, and the import contracts name it as the only one.
"""

from kapy.client.client import Listed
from kapy.conditions.paused import is_paused, paused_condition
from kapy.conditions.stale import stale_machines
from kapy.conditions.transitions import next_transition
from kapy.contract.control_plane import ControlPlane
from kapy.contract.external import External, owner_keys
from kapy.contract.failure_domains import pick_most
from kapy.contract.infra_machine import InfraMachine
from kapy.contract.observed import Absent, Found, Observed, Unreadable
from kapy.contract.predicates import unblocking_only
from kapy.contract.templates import InfraMachineTemplate, clone_template
from kapy.engine.cache import Cache
from kapy.engine.controller import AGGREGATE_DEBOUNCE, STATUS_DEBOUNCE, own_key
from kapy.engine.draft import Draft
from kapy.engine.events import Recorder
from kapy.engine.phases import run_phases
from kapy.engine.private_keys import PrivateKeyPool
from kapy.engine.ssa_cache import SSACache
from kapy.sdk.applied_objects import AppliedObjects
from kapy.sdk.change_counter import ChangeCounter

__all__ = [
    "AGGREGATE_DEBOUNCE",
    "STATUS_DEBOUNCE",
    "Absent",
    "AppliedObjects",
    "Cache",
    "ChangeCounter",
    "ControlPlane",
    "Draft",
    "External",
    "Found",
    "InfraMachine",
    "InfraMachineTemplate",
    "Listed",
    "Observed",
    "PrivateKeyPool",
    "Recorder",
    "SSACache",
    "Unreadable",
    "clone_template",
    "is_paused",
    "next_transition",
    "own_key",
    "owner_keys",
    "paused_condition",
    "pick_most",
    "run_phases",
    "stale_machines",
    "unblocking_only",
]
