"""The hooks that update Machines in place (`inplaceupdate_types.go`)."""

from __future__ import annotations

from typing import Annotated, Final, Self

import msgspec
from msgspec import field

from kapy.hooks.hook import Hook
from kapy.hooks.messages.content import MACHINE, MACHINE_SET, RAW_OBJECT
from kapy.hooks.messages.message import Request, Response, RetryResponse
from kapy.kube import Document
from kapy.kube.model import Model, rules

JSON_PATCH: Final = "JSONPatch"
JSON_MERGE_PATCH: Final = "JSONMergePatch"


class Patch(Model):
    """Patch is a patch of one object. An empty patch changes nothing."""

    patch_type: Annotated[
        str,
        rules(
            "patchType is the format of the patch. Allowed values are JSONPatch (RFC 6902) "
            "and JSONMergePatch (RFC 7386).",
            required=True,
        ),
    ] = ""
    patch: Annotated[
        bytes, rules("patch is the patch in JSON, encoded as base64.", required=True)
    ] = b""

    @classmethod
    def operations(cls, *operations: Document) -> Self:
        """Return a JSON patch (RFC 6902)."""
        return cls(patch_type=JSON_PATCH, patch=msgspec.json.encode(operations))

    @classmethod
    def merge(cls, changes: Document) -> Self:
        """Return a JSON merge patch (RFC 7386)."""
        return cls(patch_type=JSON_MERGE_PATCH, patch=msgspec.json.encode(changes))


ChangedInPlace = Annotated[
    Patch | None,
    rules("The part of the change that is made in place; none if it is not set.", zero="omitted"),
]

_IN_PLACE: Final = ("In-Place Update Hooks",)


class _MachineObjects(Model, kw_only=True):
    """_MachineObjects are a Machine and its bootstrap and infrastructure objects."""

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


class CanUpdateMachineRequestObjects(_MachineObjects, kw_only=True):
    """CanUpdateMachineRequestObjects are a Machine and its bootstrap and infrastructure objects."""


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
    tags=_IN_PLACE,
    summary="Cluster API asks which changes of a control plane Machine are possible in place",
    description=(
        "It is called when a control plane Machine differs from its desired state. The response "
        "contains patches of the current objects with the changes of their spec that the "
        "extension can make. The Machine is replaced if the responses of all extensions "
        "together do not cover every change."
    ),
)


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
    tags=_IN_PLACE,
    summary="Cluster API asks which changes of a MachineSet's Machines are possible in place",
    description=(
        "It is called when the Machines of a MachineDeployment differ from their desired state. "
        "The response contains patches of the current objects with the changes of their "
        "spec.template.spec that the extension can make. The Machines are replaced if the "
        "responses of all extensions together do not cover every change."
    ),
)


class UpdateMachineRequestObjects(_MachineObjects, kw_only=True):
    """UpdateMachineRequestObjects are a Machine and its bootstrap and infrastructure objects."""


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
    tags=_IN_PLACE,
    summary="Cluster API requests the update of a Machine in place",
    description=(
        "It is called until the response tells that the update is complete or has failed. A "
        "response with retryAfterSeconds tells that the update is in progress. The same request "
        "may arrive any number of times."
    ),
)
