"""CanUpdateMachineSet: asks whether the Machines of a MachineSet can be updated in place."""

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
    """CanUpdateMachineSetRequestObjects are a MachineSet and the templates of its Machines."""

    machine_set: Annotated[
        Document, rules("machineSet is the MachineSet with its spec.", of=MACHINE_SET)
    ]
    infrastructure_machine_template: Annotated[
        Document,
        rules(
            "infrastructureMachineTemplate is the template of the infrastructure objects of "
            "the Machines.",
            of=RAW_OBJECT,
            required=True,
        ),
    ] = field(default_factory=dict)
    bootstrap_config_template: Annotated[
        Document,
        rules(
            "bootstrapConfigTemplate is the template of the bootstrap objects of the "
            "Machines. It is absent if the Machines have none.",
            of=RAW_OBJECT,
        ),
    ] = field(default_factory=dict)


class CanUpdateMachineSetRequest(Request, kw_only=True):
    """CanUpdateMachineSetRequest is the request of the CanUpdateMachineSet hook."""

    current: Annotated[
        CanUpdateMachineSetRequestObjects, rules("current are the objects in their current state.")
    ]
    desired: Annotated[
        CanUpdateMachineSetRequestObjects, rules("desired are the objects in their desired state.")
    ]


class CanUpdateMachineSetResponse(Response):
    """CanUpdateMachineSetResponse is the response of the CanUpdateMachineSet hook. The patches
    together tell which changes the extension can make in place.
    """

    machine_set_patch: Annotated[
        ChangedInPlace,
        rules(
            "machineSetPatch is the patch of the current MachineSet with the changes that "
            "the extension can make in place. If it is not set, the extension makes none of "
            "them."
        ),
    ] = None
    infrastructure_machine_template_patch: Annotated[
        ChangedInPlace,
        rules(
            "infrastructureMachineTemplatePatch is the patch of the current infrastructure "
            "template with the changes that the extension can make in place. If it is not "
            "set, the extension makes none of them."
        ),
    ] = None
    bootstrap_config_template_patch: Annotated[
        ChangedInPlace,
        rules(
            "bootstrapConfigTemplatePatch is the patch of the current bootstrap template "
            "with the changes that the extension can make in place. If it is not set, the "
            "extension makes none of them."
        ),
    ] = None


CAN_UPDATE_MACHINE_SET: Final = Hook(
    "CanUpdateMachineSet",
    CanUpdateMachineSetRequest,
    CanUpdateMachineSetResponse,
    tags=IN_PLACE,
    summary="Cluster API asks which changes of a MachineSet's Machines are possible in place",
    description=(
        "It is called when the Machines of a MachineDeployment differ from their desired state. "
        "The response contains patches of the current objects with the changes of their "
        "spec.template.spec that the extension can make. The Machines are replaced if the "
        "responses of all extensions together do not cover every change."
    ),
)
