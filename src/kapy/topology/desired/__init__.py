"""The desired state of a managed cluster: the objects that its Cluster and ClusterClass describe.

    desired = await desired_state(blueprint, current, upgrades, calls)

The whole state is computed before anything is written. The inputs are never changed.
"""

from kapy.topology.desired.state import desired_state
from kapy.topology.errors import CannotCompute

__all__ = ["CannotCompute", "desired_state"]
