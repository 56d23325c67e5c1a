"""CanUpdateMachine: whether a Machine can be changed and not replaced."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import field

from kapy.hooks.hook import Hook
from kapy.hooks.messages.content import MACHINE, RAW_OBJECT
from kapy.hooks.messages.message import Request, Response
from kapy.hooks.messages.patch import IN_PLACE, ChangedInPlace
from kapy.kube import Document
from kapy.kube.model import Model, rules


class CanUpdateMachineRequestObjects(Model, kw_only=True):
    """A Machine and what it is made of."""

    machine: Annotated[Document, rules("The Machine.", of=MACHINE)]
    infrastructure_machine: Annotated[
        Document, rules("The provider's machine.", of=RAW_OBJECT, required=True)
    ] = field(default_factory=dict)
    bootstrap_config: Annotated[
        Document, rules("What it is bootstrapped with, if it is.", of=RAW_OBJECT)
    ] = field(default_factory=dict)


class CanUpdateMachineRequest(Request, kw_only=True):
    """Asks CanUpdateMachine."""

    current: Annotated[CanUpdateMachineRequestObjects, rules("The objects as they are.")]
    desired: Annotated[CanUpdateMachineRequestObjects, rules("The objects as they should be.")]


class CanUpdateMachineResponse(Response):
    """Answers CanUpdateMachine."""

    machine_patch: ChangedInPlace = None
    infrastructure_machine_patch: ChangedInPlace = None
    bootstrap_config_patch: ChangedInPlace = None


CAN_UPDATE_MACHINE: Final = Hook(
    "CanUpdateMachine",
    CanUpdateMachineRequest,
    CanUpdateMachineResponse,
    tags=IN_PLACE,
    summary="Asked what of a change of a Machine can be made in place",
    description=(
        "Called when a Machine of a control plane is not as it should be. The answer has patches "
        "of the objects as they are, for those changes of their spec that the extension can make. "
        "If the answers of all extensions leave a change over, the Machine is replaced."
    ),
)
