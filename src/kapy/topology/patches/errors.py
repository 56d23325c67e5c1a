"""Errors of patches.

* KapyError
  - CannotPatch          the patches of a ClusterClass cannot be applied to a cluster
  - NoValue              a patch's value cannot be made of the variables
    + MissingValue           because the variable, or the part of it that is wanted, is not there
"""

from __future__ import annotations

from kapy.kube.errors import KapyError


class CannotPatch(KapyError):
    """The patches of a ClusterClass cannot be applied to a cluster. The message names the
    ClusterClass, the patch, the object and the error; nothing was changed."""


class NoValue(KapyError):
    """The value of a patch cannot be computed."""


class MissingValue(NoValue):
    """The variable, or the requested part of it, does not exist."""
