"""CanUpdateMachineSet: whether Machines of a MachineSet can be changed and not replaced."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import field

from kapy.hooks.hook import Hook
from kapy.hooks.messages.content import MACHINE_SET, RAW_OBJECT
from kapy.hooks.messages.message import Request, Response
from kapy.hooks.messages.patch import IN_PLACE, ChangedInPlace
from kapy.kube import Document
from kapy.kube.model import Model, rules


class CanUpdateMachineSetRequestObjects(Model, kw_only=True):
    """A MachineSet and the templates of its Machines."""

    machine_set: Annotated[Document, rules("The MachineSet.", of=MACHINE_SET)]
    infrastructure_machine_template: Annotated[
        Document, rules("The template of the provider's machines.", of=RAW_OBJECT, required=True)
    ] = field(default_factory=dict)
    bootstrap_config_template: Annotated[
        Document,
        rules("The template of what they are bootstrapped with, if they are.", of=RAW_OBJECT),
    ] = field(default_factory=dict)


class CanUpdateMachineSetRequest(Request, kw_only=True):
    """Asks CanUpdateMachineSet."""

    current: Annotated[CanUpdateMachineSetRequestObjects, rules("The objects as they are.")]
    desired: Annotated[CanUpdateMachineSetRequestObjects, rules("The objects as they should be.")]


class CanUpdateMachineSetResponse(Response):
    """Answers CanUpdateMachineSet."""

    machine_set_patch: ChangedInPlace = None
    infrastructure_machine_template_patch: ChangedInPlace = None
    bootstrap_config_template_patch: ChangedInPlace = None


CAN_UPDATE_MACHINE_SET: Final = Hook(
    "CanUpdateMachineSet",
    CanUpdateMachineSetRequest,
    CanUpdateMachineSetResponse,
    tags=IN_PLACE,
    summary="Asked what of a change of a MachineSet can be made in place",
    description=(
        "Called when a MachineDeployment is not as its Machines are. The answer has patches of "
        "the objects as they are, for those changes of their spec.template.spec that the "
        "extension can make. If the answers of all extensions leave a change over, Machines are "
        "replaced."
    ),
)
