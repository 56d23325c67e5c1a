"""DockerMachine and its template in v1beta1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kapy.api.conversion.infrastructure import MACHINE, MACHINE_TEMPLATE
from kapy.api.conversion.spoke import Spoke

SPOKES: Final[Mapping[tuple[str, str], Spoke]] = {
    ("DockerMachine", "v1beta1"): MACHINE,
    ("DockerMachineTemplate", "v1beta1"): MACHINE_TEMPLATE,
}
