"""Control planes that consist of Machines.

A provider implements `MachineControlPlaneProvider`, and `add_machine_based_control_plane` creates,
replaces and deletes the Machines. A provider with a reconcile of its own calls the same loop
(`MachineLoop`, `MachineFactory`) with its own steps.
"""

from typing import TYPE_CHECKING

from kapy.sdk.late_imports import late_imports

if TYPE_CHECKING:
    from kapy.conditions.stale import stale_machines
    from kapy.conditions.transitions import next_transition
    from kapy.sdk.control_plane_desired import DesiredMachines
    from kapy.sdk.control_plane_kinds import MachineBasedControlPlaneSpec
    from kapy.sdk.control_plane_loop import (
        MachineLoop,
        Step,
        control_plane_machines,
        waits_for_hook,
    )
    from kapy.sdk.control_plane_machine_factory import MachineFactory, NewMachine, Part, free_name
    from kapy.sdk.control_plane_rollout import (
        creation_time,
        failure_domains,
        is_cloned_from,
        next_failure_domain,
        oldest,
        select_for_deletion,
        versions_of,
    )
    from kapy.sdk.control_plane_status import set_machine_counters
    from kapy.sdk.control_plane_steady_state import SteadyStateCache
    from kapy.sdk.control_plane_watches import InfrastructureTemplates
    from kapy.sdk.machine_based_control_plane import (
        MachineControlPlaneContext,
        MachineControlPlaneProvider,
    )
    from kapy.sdk.machine_based_control_plane_controller import add_machine_based_control_plane
    from kapy.sdk.results import ControlPlaneObserved

__all__ = [
    "ControlPlaneObserved",
    "DesiredMachines",
    "InfrastructureTemplates",
    "MachineBasedControlPlaneSpec",
    "MachineControlPlaneContext",
    "MachineControlPlaneProvider",
    "MachineFactory",
    "MachineLoop",
    "NewMachine",
    "Part",
    "SteadyStateCache",
    "Step",
    "add_machine_based_control_plane",
    "control_plane_machines",
    "creation_time",
    "failure_domains",
    "free_name",
    "is_cloned_from",
    "next_failure_domain",
    "next_transition",
    "oldest",
    "select_for_deletion",
    "set_machine_counters",
    "stale_machines",
    "versions_of",
    "waits_for_hook",
]

if not TYPE_CHECKING:  # otherwise type checkers would accept every name
    _NAMES = {
        "kapy.conditions.stale": ("stale_machines",),
        "kapy.conditions.transitions": ("next_transition",),
        "kapy.sdk.control_plane_desired": ("DesiredMachines",),
        "kapy.sdk.control_plane_kinds": ("MachineBasedControlPlaneSpec",),
        "kapy.sdk.control_plane_loop": (
            "MachineLoop",
            "Step",
            "control_plane_machines",
            "waits_for_hook",
        ),
        "kapy.sdk.control_plane_machine_factory": (
            "MachineFactory",
            "NewMachine",
            "Part",
            "free_name",
        ),
        "kapy.sdk.control_plane_rollout": (
            "creation_time",
            "failure_domains",
            "next_failure_domain",
            "oldest",
            "select_for_deletion",
            "is_cloned_from",
            "versions_of",
        ),
        "kapy.sdk.control_plane_status": ("set_machine_counters",),
        "kapy.sdk.control_plane_steady_state": ("SteadyStateCache",),
        "kapy.sdk.control_plane_watches": ("InfrastructureTemplates",),
        "kapy.sdk.machine_based_control_plane": (
            "MachineControlPlaneContext",
            "MachineControlPlaneProvider",
        ),
        "kapy.sdk.machine_based_control_plane_controller": ("add_machine_based_control_plane",),
        "kapy.sdk.results": ("ControlPlaneObserved",),
    }
    __getattr__ = late_imports(globals(), _NAMES)
