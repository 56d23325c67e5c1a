"""CanUpdateMachine: asks whether a Machine can be updated in place."""

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
    """CanUpdateMachineRequestObjects are a Machine and its bootstrap and infrastructure objects."""

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


class CanUpdateMachineRequest(Request, kw_only=True):
    """CanUpdateMachineRequest is the request of the CanUpdateMachine hook."""

    current: Annotated[
        CanUpdateMachineRequestObjects, rules("current are the objects in their current state.")
    ]
    desired: Annotated[
        CanUpdateMachineRequestObjects, rules("desired are the objects in their desired state.")
    ]


class CanUpdateMachineResponse(Response):
    """CanUpdateMachineResponse is the response of the CanUpdateMachine hook. The patches
    together tell which changes the extension can make in place.
    """

    machine_patch: Annotated[
        ChangedInPlace,
        rules(
            "machinePatch is the patch of the current Machine with the changes that the "
            "extension can make in place. If it is not set, the extension makes none of "
            "them."
        ),
    ] = None
    infrastructure_machine_patch: Annotated[
        ChangedInPlace,
        rules(
            "infrastructureMachinePatch is the patch of the current infrastructure object "
            "with the changes that the extension can make in place. If it is not set, the "
            "extension makes none of them."
        ),
    ] = None
    bootstrap_config_patch: Annotated[
        ChangedInPlace,
        rules(
            "bootstrapConfigPatch is the patch of the current bootstrap object with the "
            "changes that the extension can make in place. If it is not set, the extension "
            "makes none of them."
        ),
    ] = None


CAN_UPDATE_MACHINE: Final = Hook(
    "CanUpdateMachine",
    CanUpdateMachineRequest,
    CanUpdateMachineResponse,
    tags=IN_PLACE,
    summary="Cluster API asks which changes of a control plane Machine are possible in place",
    description=(
        "It is called when a control plane Machine differs from its desired state. The response "
        "contains patches of the current objects with the changes of their spec that the "
        "extension can make. The Machine is replaced if the responses of all extensions "
        "together do not cover every change."
    ),
)
