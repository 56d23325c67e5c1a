"""Objects of other providers, read by the fields of their contracts, whatever their kind.

    external = External(runtime.client, runtime.cache)
    match await external.get(machine.spec.infrastructure_ref, namespace, InfraMachine):
        case Found(view):
            provider_id = view.provider_id
        case Absent():
            ...  # there is no such object
        case Unreadable(error):
            ...  # the kind is not installed, or its CRD breaks the contract

Each kind is watched from the first read on.
"""

from kapy.contract.control_plane import ControlPlane
from kapy.contract.external import External
from kapy.contract.infra_machine import InfraMachine
from kapy.contract.observed import Absent, Found, Observed, Unreadable
from kapy.contract.templates import InfraMachineTemplate

__all__ = [
    "Absent",
    "ControlPlane",
    "External",
    "Found",
    "InfraMachine",
    "InfraMachineTemplate",
    "Observed",
    "Unreadable",
]
