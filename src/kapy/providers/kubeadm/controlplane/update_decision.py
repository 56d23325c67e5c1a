"""The interface that decides whether control plane Machines can be updated in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kapy.kube import Document, Key


class MachineUpdates(Protocol):
    """Asks an extension what it can update."""

    async def can_update_machine(
        self, control_plane: Key, current: Document, desired: Document
    ) -> Sequence[str]:
        """Return the reasons for which a Machine cannot be updated in place; empty if it can.

        current, desired: `machine`, `infrastructureMachine` and `bootstrapConfig`. Raises KapyError
        if that is unknown.
        """
        ...
