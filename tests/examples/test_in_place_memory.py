"""The extension that changes the memory of running machines, as users meet it."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path
from typing import Any

import msgspec

from kapy.api.machine_deployment import MachineDeployment
from kapy.hooks import (
    CAN_UPDATE_MACHINE_SET,
    UPDATE_MACHINE,
    CanUpdateMachineSetRequest,
    Extension,
    UpdateMachineRequest,
)
from kapy.hooks.messages.in_place_update import (
    CanUpdateMachineSetRequestObjects,
    UpdateMachineRequestObjects,
)
from kapy.hooks.transport import Answer
from kapy.kube.names import CONFIG_MAPS, NAMESPACES, SECRETS
from kapy.testing.extension import ask
from kapy.testing.story import Story
from tests.hooks.extension import Extension as Answering
from tests.hooks.extension import Network, config
from tests.stories.plane import own_kinds, sample
from tests.stories.test_extensions import discovered, running_with
from tests.stories.test_in_place import (
    OPEN,
    WORKERS,
    identities,
    is_complete,
    marked,
    watched,
    with_workers,
)

FILE = Path(__file__).parents[2] / "examples" / "extensions" / "in_place_memory.py"
FIELD = "backend.inMemory.vm.provisioning.startupDuration"


class Served(Answering):
    """An extension of `kapy.hooks` behind the network of a test."""

    def __init__(self, extension: Extension) -> None:
        super().__init__()
        self.extension = extension

    async def answer(self, path: str, request: dict[str, Any]) -> Answer:
        data = await self.extension.dispatch(path, msgspec.json.encode(request))
        return Answer(404, b"") if data is None else Answer(200, data)


async def test_an_update_is_done_when_it_is_asked_for_again() -> None:
    module = run_path(str(FILE))
    desired = UpdateMachineRequestObjects(
        machine={}, infrastructure_machine={"spec": {"providerID": "vm://1", "memoryMiB": 4096}}
    )
    request = UpdateMachineRequest(desired=desired)
    seconds = [
        (await ask(module["extension"], UPDATE_MACHINE, request, "resize")).retry_after_seconds
        for _ in range(3)
    ]
    assert seconds == [5, 0, 0]
    assert module["memory"] == {"vm://1": 4096}


async def test_other_changes_are_left_to_others() -> None:
    """Of two fields that differ only the memory is in the patch."""
    module = run_path(str(FILE))
    template = {"spec": {"template": {"spec": {"memoryMiB": 4096, "disk": "large"}}}}
    desired = CanUpdateMachineSetRequestObjects(
        machine_set={}, infrastructure_machine_template=template
    )
    request = CanUpdateMachineSetRequest(current=desired, desired=desired)
    answer = await ask(module["extension"], CAN_UPDATE_MACHINE_SET, request, "can-resize-machines")
    patch = answer.infrastructure_machine_template_patch
    assert patch is not None
    assert msgspec.json.decode(patch.patch) == {"spec": {"template": {"spec": {"memoryMiB": 4096}}}}
    assert answer.machine_set_patch is None


async def test_machines_get_memory_and_stay() -> None:
    module = run_path(str(FILE))
    async with running_with(Network(ext=Served(module["extension"])), OPEN) as plane:
        story = Story(plane.client, [*own_kinds(), NAMESPACES, SECRETS, CONFIG_MAPS])
        await story.create([config("ext", settings={"field": FIELD})])
        await discovered(story, "ext")
        documents = list(with_workers(sample(), 2, 0))
        await story.create(documents)
        await story.until(MachineDeployment, WORKERS, is_complete)
        before = await identities(story)
        (template,) = [
            document
            for document in documents
            if (document["kind"], document["metadata"]["name"]) == ("DevMachineTemplate", WORKERS)
        ]
        template["metadata"] = {"name": "more", "namespace": "default"}
        vm = template["spec"]["template"]["spec"]["backend"]["inMemory"]["vm"]
        vm["provisioning"] = {"startupDuration": "1s"}
        await story.create([template])
        spec = {"infrastructureRef": {"name": "more"}}
        await story.merge(MachineDeployment, WORKERS, {"spec": {"template": {"spec": spec}}})
        await watched(story)
        assert await identities(story) == before
        assert len(module["memory"]) == 2
        assert await marked(story) == []
