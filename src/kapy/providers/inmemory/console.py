"""Logs of simulated machines: the steps of the simulation. Commands are not supported."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final

from kapy.api.times import moment
from kapy.kube import Document
from kapy.providers.inmemory.backend import is_in_memory
from kapy.sdk.console import (
    CommandStreams,
    ConsoleUnavailable,
    LogRequest,
    MachineConsole,
    MachineTarget,
)

BOOTSTRAP: Final = "bootstrap"
_HEAD: Final = (
    "Machine {name} is simulated (DevMachine with backend.inMemory): nothing runs in it, and these "
    "are the steps of its simulation.\n"
)


class SimulatedConsole(MachineConsole):
    """Lists the steps from the conditions of the DevMachine."""

    sources: ClassVar[Mapping[str, str]] = {BOOTSTRAP: "the steps of the simulation"}

    def serves(self, infra: Document) -> bool:
        return infra["kind"] == "DevMachine" and is_in_memory(infra)

    async def logs(self, target: MachineTarget, wanted: LogRequest) -> AsyncIterator[bytes]:
        if wanted.follow:
            raise ConsoleUnavailable(
                f"Machine {target.name} is simulated, and its log cannot be followed; "
                f"`kapy describe cluster {target.cluster.name} --watch` shows how it changes"
            )
        lines = steps(target.infra, wanted.since)
        if wanted.tail is not None:
            lines = lines[len(lines) - min(wanted.tail, len(lines)) :]
        yield (_HEAD.format(name=target.name) + "".join(lines)).encode()

    async def execute(
        self, target: MachineTarget, command: Sequence[str], streams: CommandStreams
    ) -> int:
        del streams
        raise ConsoleUnavailable(
            f"{command[0]} cannot be run in Machine {target.name}: it is simulated (DevMachine "
            "with backend.inMemory), and no program runs in it; Machines of backend.docker are real"
        )


def steps(infra: Document, since: datetime | None) -> list[str]:
    """Return one line for each condition, in the order of their last transitions."""
    conditions: list[Mapping[str, Any]] = [
        condition
        for condition in (infra.get("status") or {}).get("conditions") or ()
        if since is None or moment(condition["lastTransitionTime"]) >= since
    ]
    conditions.sort(key=lambda condition: condition["lastTransitionTime"])
    return [
        f"{condition['lastTransitionTime']} {condition['type']} is {condition['status']}: "
        f"{condition.get('reason', '')}"
        f"{' (' + condition['message'] + ')' if condition.get('message') else ''}\n"
        for condition in conditions
    ]
