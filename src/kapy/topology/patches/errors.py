"""What goes wrong with patches.

* KapyError
  - CannotPatch          the patches of a ClusterClass cannot be applied to a cluster
  - NoValue              a patch's value cannot be made of the variables
    + NotThere           because the variable, or the part of it that is wanted, is not there
"""

from __future__ import annotations

from kapy.kube.errors import KapyError


class CannotPatch(KapyError):
    """The sentence names the ClusterClass, the patch, the object and what is wrong; nothing has
    been changed."""


class NoValue(KapyError):
    """A value cannot be made."""


class NotThere(NoValue):
    """There is no such variable, or no such part of it."""
