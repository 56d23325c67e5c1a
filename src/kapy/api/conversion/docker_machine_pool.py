"""DockerMachinePool and its template in v1beta1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kapy.api.conversion.moves import put, status_from_hub, status_to_hub, value_at
from kapy.api.conversion.spoke import ReferenceVersion, Spoke
from kapy.kube import Document


def _to_hub(pool: Document, remembered: Document | None) -> None:
    status_to_hub(pool["status"], ())
    # Of this kind, v1beta1 has no place for them.
    put(pool["status"], "conditions", value_at(remembered, "status", "conditions"))


def _from_hub(pool: Document, _: ReferenceVersion) -> None:
    status_from_hub(pool["status"], ())


def _same(_: Document, __: Document | ReferenceVersion | None) -> None:
    """The template says the same in both versions."""


SPOKES: Final[Mapping[tuple[str, str], Spoke]] = {
    ("DockerMachinePool", "v1beta1"): Spoke(_to_hub, _from_hub),
    ("DockerMachinePoolTemplate", "v1beta1"): Spoke(_same, _same, remembers=False),
}
