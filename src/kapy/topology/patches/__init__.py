"""The patches of a ClusterClass: what variables make of its templates, for one cluster.

    await patched(blueprint, desired, external=extensions, causes=causes)

Inline patches are compiled once for all clusters of a class; extensions are asked through
`ExternalPatches`. Both kinds go the same way, in the order of the class.
"""

from kapy.topology.patches.causes import Cause
from kapy.topology.patches.engine import patched
from kapy.topology.patches.errors import CannotPatch
from kapy.topology.patches.external import ExternalPatches

__all__ = ["CannotPatch", "Cause", "ExternalPatches", "patched"]
