"""The contents of document fields in messages (`rules(of=…)`).

Messages carry objects as documents, because extension and core may be of different releases. The
kinds are named and not imported, so that an extension starts without them.
"""

from __future__ import annotations

from typing import Final

CLUSTER: Final = "kapy.api.cluster:Cluster"
MACHINE: Final = "kapy.api.machine:Machine"
MACHINE_SET: Final = "kapy.api.machine_set:MachineSet"
CLASS_VARIABLE: Final = "kapy.api.cluster_class_variables:ClusterClassVariable"

RAW_OBJECT: Final = "RawExtension"
"""An object of any kind."""

RAW_VALUE: Final = "JSON"
"""Any JSON value."""
