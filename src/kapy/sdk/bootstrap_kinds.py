"""What kinds of boot data have: the fields that the contract asks for, of authors and here.

class SheetConfig(Object):
    RESOURCE = resource("bootstrap.cluster.x-k8s.io", "v1alpha1", "SheetConfig")
    spec: SheetConfigSpec = field(default_factory=SheetConfigSpec)
    status: BootstrapConfigStatus = field(default_factory=BootstrapConfigStatus)
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.status import Conditions, Deprecated
from kapy.kube import Document
from kapy.kube.model import Model, rules
from kapy.sdk.lens import Lens, LensStatus


class BootstrapInitialization(Model):
    """Milestones of the first provisioning; they are not taken back."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    data_secret_created: Annotated[bool | None, rules("Whether the boot data is there.")] = None


class BootstrapConfigStatus(LensStatus):
    """What came of a bootstrap configuration."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Conditions = field(default_factory=list)
    initialization: Annotated[
        BootstrapInitialization,
        rules("Milestones of the first provisioning; they are not taken back."),
    ] = field(default_factory=BootstrapInitialization)
    data_secret_name: Annotated[
        str, rules("The Secret that holds the boot data.", min_length=1, max_length=253)
    ] = ""
    deprecated: Deprecated = None


class BootstrapConfigLens(Lens):
    """A bootstrap configuration as its contract sees it."""

    status: BootstrapConfigStatus = field(default_factory=BootstrapConfigStatus)
