"""The desired state of a managed cluster: what its Cluster and ClusterClass ask for, as objects.

    desired = await desired_state(blueprint, current, upgrades, calls)

Everything is computed before anything is written, and nothing that it was computed from is changed.
"""

from kapy.topology.desired.state import desired_state
from kapy.topology.errors import CannotCompute

__all__ = ["CannotCompute", "desired_state"]
