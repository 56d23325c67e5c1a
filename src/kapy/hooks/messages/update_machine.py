"""UpdateMachine: updates a Machine in place."""

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
    """UpdateMachineRequestObjects are a Machine and its bootstrap and infrastructure objects."""

    machine: Annotated[Document, rules("machine is the Machine with its spec.", of=MACHINE)]
    infrastructure_machine: Annotated[
        Document,
        rules(
            "infrastructureMachine is the infrastructure object of the Machine.",
            of=RAW_OBJECT,
            required=True,
        ),
    ] = field(default_factory=dict)
    bootstrap_config: Annotated[
        Document,
        rules(
            "bootstrapConfig is the bootstrap object of the Machine. It is absent if the "
            "Machine has none.",
            of=RAW_OBJECT,
        ),
    ] = field(default_factory=dict)


class UpdateMachineRequest(Request, kw_only=True):
    """UpdateMachineRequest is the request of the UpdateMachine hook."""

    desired: Annotated[
        UpdateMachineRequestObjects, rules("desired are the objects in their desired state.")
    ]


class UpdateMachineResponse(RetryResponse):
    """UpdateMachineResponse is the response of the UpdateMachine hook. The update is in
    progress while retryAfterSeconds is not 0, and complete when it is 0.
    """


UPDATE_MACHINE: Final = Hook(
    "UpdateMachine",
    UpdateMachineRequest,
    UpdateMachineResponse,
    tags=IN_PLACE,
    summary="Cluster API requests the update of a Machine in place",
    description=(
        "It is called until the response tells that the update is complete or has failed. A "
        "response with retryAfterSeconds tells that the update is in progress. The same request "
        "may arrive any number of times."
    ),
)
