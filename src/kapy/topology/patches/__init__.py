"""The patches of a ClusterClass: they change its templates by variables, for one cluster.

    await patched(blueprint, desired, external=extensions, causes=causes)

Inline patches are compiled once for all clusters of a class; extensions are called through
`ExternalPatches`. Both kinds are applied in the order of the class.
"""

from kapy.topology.patches.causes import Cause
from kapy.topology.patches.engine import apply_patches
from kapy.topology.patches.errors import CannotPatch
from kapy.topology.patches.external import ExternalPatches

__all__ = ["CannotPatch", "Cause", "ExternalPatches", "apply_patches"]
