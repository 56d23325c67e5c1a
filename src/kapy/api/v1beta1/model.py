"""What the Structs of older versions share."""

from __future__ import annotations

from typing import ClassVar

from kapy.kube.meta import Object
from kapy.kube.model import Model


class OldModel(Model):
    """A part of an object of an older version.

    Its required fields and its parts are on the wire even when nothing is in them: that is how
    upstream's types of these versions are encoded, and converted objects are compared with them.
    """

    ZEROS: ClassVar[bool] = True


class OldObject(Object):
    """A kind in an older version."""

    ZEROS: ClassVar[bool] = True
