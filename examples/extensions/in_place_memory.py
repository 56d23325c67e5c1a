"""Gives running machines more or less memory, so that nobody has to replace them.

The memory is the field `settings.field` of the spec of the infrastructure's machines (dots lead
deeper). Of a change of anything else the extension says nothing: then machines are replaced.
"""

from typing import Any

from kapy.hooks import (
    CAN_UPDATE_MACHINE,
    CAN_UPDATE_MACHINE_SET,
    UPDATE_MACHINE,
    CanUpdateMachineRequest,
    CanUpdateMachineResponse,
    CanUpdateMachineSetRequest,
    CanUpdateMachineSetResponse,
    Extension,
    Patch,
    UpdateMachineRequest,
    UpdateMachineResponse,
)

RETRY_SECONDS = 5
MACHINE = ("spec",)
TEMPLATE = ("spec", "template", "spec")

extension = Extension()
memory: dict[str, Any] = {}
"""What a hypervisor would know: the memory of each machine, by its provider ID."""


@extension.handles(CAN_UPDATE_MACHINE, name="can-resize-machine")
async def machine(request: CanUpdateMachineRequest) -> CanUpdateMachineResponse:
    wanted = request.desired.infrastructure_machine
    path = (*MACHINE, *field_of(request.settings))
    return CanUpdateMachineResponse(infrastructure_machine_patch=setting(wanted, path))


@extension.handles(CAN_UPDATE_MACHINE_SET, name="can-resize-machines")
async def machine_set(request: CanUpdateMachineSetRequest) -> CanUpdateMachineSetResponse:
    wanted = request.desired.infrastructure_machine_template
    path = (*TEMPLATE, *field_of(request.settings))
    return CanUpdateMachineSetResponse(infrastructure_machine_template_patch=setting(wanted, path))


@extension.handles(UPDATE_MACHINE, name="resize")
async def resize(request: UpdateMachineRequest) -> UpdateMachineResponse:
    """The same request may come any number of times: only the first one changes anything."""
    wanted = request.desired.infrastructure_machine
    size = value_at(wanted, (*MACHINE, *field_of(request.settings)))
    machine_id = wanted["spec"]["providerID"]
    if memory.get(machine_id) == size:
        return UpdateMachineResponse()
    memory[machine_id] = size
    return UpdateMachineResponse.wait(RETRY_SECONDS, f"memory becomes {size}")


def field_of(settings: dict[str, str]) -> list[str]:
    return settings.get("field", "memoryMiB").split(".")


def value_at(document: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        document = document.get(part) if isinstance(document, dict) else None
    return document


def setting(wanted: dict[str, Any], path: tuple[str, ...]) -> Patch:
    """A patch that makes one field what it should be, and leaves all others alone."""
    change = value_at(wanted, path)
    for part in reversed(path):
        change = {part: change}
    return Patch.merge(change)
