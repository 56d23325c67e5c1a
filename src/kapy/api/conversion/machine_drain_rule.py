"""MachineDrainRule in v1beta1 (upstream's core/webhooks/conversion): nothing differs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kapy.api.conversion.spoke import SAME, Spoke

SPOKES: Final[Mapping[tuple[str, str], Spoke]] = {("MachineDrainRule", "v1beta1"): SAME}
