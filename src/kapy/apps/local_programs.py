"""Local programs that run in place of providers' images on an embedded plane."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from kapy.apps.pods import NODE
from kapy.client.client import Client
from kapy.clusterctl.components import PROVIDER_LABEL, Components
from kapy.clusterctl.components.images import MANAGER
from kapy.clusterctl.inventory import BUILT_IN
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, KapyError, NotFound
from kapy.kube.names import DEPLOYMENTS, NODES
from kapy.node_agent.node_object import FOLDER
from kapy.node_agent.processes import programs
from kapy.node_agent.processes.programs import Program

Command = tuple[str, ...]


class CannotRun(KapyError):
    """A program cannot run in place of a provider's image; the message gives the reason."""


async def plane_folder(client: Client) -> Path:
    """Return the folder of the plane of a client. Raises CannotRun if the plane is on another
    machine.
    """
    try:
        node = await client.get(NODES, Key("", NODE))
    except NotFound:
        raise CannotRun(
            "only planes of `kapy up` run programs of this machine, and the management cluster of "
            "this kubeconfig is none; choose its context with --kubeconfig-context"
        ) from None
    folder = Path((node["metadata"].get("annotations") or {}).get(FOLDER, ""))
    if not (folder / "plane.json").exists():
        raise CannotRun(
            f"the plane's folder {folder} is not on this machine; run this where the plane runs, "
            "as its user"
        )
    return folder


async def plane_folder_if_any(client: Client) -> Path | None:
    """Return the folder of the plane of a client, None if the plane is not on this machine."""
    try:
        return await plane_folder(client)
    except (CannotRun, ApiError):
        return None


@contextmanager
def allow_local_programs(
    folder: Path, commands: Mapping[str, Command]
) -> Iterator[Callable[[Sequence[Components]], None]]:
    """While the context is open, programs can be assigned to providers that are being installed. If
    it fails, the previous assignments are restored. Raises CannotRun."""
    wanted = {label: _absolute_command(command) for label, command in commands.items()}
    before = list(programs.read(folder))

    def prepare(components: Sequence[Components]) -> None:
        result = [
            program
            for component in components
            if component.provider.label in wanted
            for program in _programs(component.provider.label, component.objects, wanted)
        ]
        labels = {component.provider.label for component in components}
        for label in wanted.keys() - labels:
            raise CannotRun(
                f"{label} is not one of the providers that are installed now "
                f"({', '.join(sorted(labels)) or 'none'}); for one that is there already use "
                f"`kapy run provider {label} -- PATH`"
            )
        programs.add(folder, result)

    try:
        yield prepare
    except BaseException:
        programs.replace(folder, before)
        raise


async def programs_of(client: Client, folder: Path) -> dict[str, str]:
    """Return the programs that run in place of images, by provider label. Raises BadPrograms,
    ApiError.
    """
    labels = {
        Key.of(item): (item["metadata"].get("labels") or {}).get(PROVIDER_LABEL, "")
        for item in (await client.list(DEPLOYMENTS, labels=PROVIDER_LABEL)).items
    }
    return {
        labels[key]: program.command[0]
        for program in programs.read(folder)
        if (key := Key(program.namespace, program.deployment)) in labels
    }


async def run_instead(client: Client, folder: Path, label: str, command: Command) -> list[Key]:
    """Run a program in place of an installed provider's image; returns its Deployments. Raises
    CannotRun, ApiError."""
    wanted = {label: _absolute_command(command)}
    selector = f"{PROVIDER_LABEL}={label}"
    there = (await client.list(DEPLOYMENTS, labels=selector)).items
    if any(BUILT_IN in (item["metadata"].get("annotations") or {}) for item in there):
        raise CannotRun(
            f"{label} is a part of this management plane; start the plane without it "
            "(`kapy up --without …`) to run another program of it"
        )
    result = list(_programs(label, [{"kind": DEPLOYMENTS.kind, **item} for item in there], wanted))
    if not result:
        raise CannotRun(
            f"no Deployment of {label} with a container that could be replaced is installed; "
            "`kubectl get providers -A` lists what is"
        )
    programs.add(folder, result)
    return [Key(program.namespace, program.deployment) for program in result]


def _programs(
    label: str, objects: Sequence[Document], commands: Mapping[str, Command]
) -> Iterator[Program]:
    """The programs for the containers of a provider."""
    for obj in objects:
        if obj.get("kind") != DEPLOYMENTS.kind:
            continue
        containers = [
            container["name"] for container in obj["spec"]["template"]["spec"]["containers"]
        ]
        name = MANAGER if MANAGER in containers else containers[0]
        if MANAGER in containers or len(containers) == 1:
            meta = obj["metadata"]
            yield Program(meta["namespace"], meta["name"], name, commands[label])


def _absolute_command(command: Command) -> Command:
    """Return a command with the absolute path of its program. Raises CannotRun."""
    name = command[0]
    result = shutil.which(name)
    if result is None:
        raise CannotRun(
            f"there is no program {name} that may be executed; build it, or name another one"
        )
    return (str(Path(result).absolute()), *command[1:])
