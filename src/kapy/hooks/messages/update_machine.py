"""UpdateMachine: the change of a Machine in place."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import field

from kapy.hooks.hook import Hook
from kapy.hooks.messages.content import MACHINE, RAW_OBJECT
from kapy.hooks.messages.message import Request, RetryResponse
from kapy.hooks.messages.patch import IN_PLACE
from kapy.kube import Document
from kapy.kube.model import Model, rules


class UpdateMachineRequestObjects(Model, kw_only=True):
    """A Machine and what it is made of."""

    machine: Annotated[Document, rules("The Machine.", of=MACHINE)]
    infrastructure_machine: Annotated[
        Document, rules("The provider's machine.", of=RAW_OBJECT, required=True)
    ] = field(default_factory=dict)
    bootstrap_config: Annotated[
        Document, rules("What it is bootstrapped with, if it is.", of=RAW_OBJECT)
    ] = field(default_factory=dict)


class UpdateMachineRequest(Request, kw_only=True):
    """Asks UpdateMachine."""

    desired: Annotated[UpdateMachineRequestObjects, rules("The objects as they should be.")]


class UpdateMachineResponse(RetryResponse):
    """Answers UpdateMachine: a wait says that the update is under way, without one it is done."""


UPDATE_MACHINE: Final = Hook(
    "UpdateMachine",
    UpdateMachineRequest,
    UpdateMachineResponse,
    tags=IN_PLACE,
    summary="Asked to change a Machine in place",
    description=(
        "Called until the answer is that the update is done (no wait) or has failed. An answer "
        "that waits says that it is under way. The same request may come any number of times."
    ),
)
