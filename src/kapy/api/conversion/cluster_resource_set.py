"""ClusterResourceSet in v1beta1 (upstream's core/webhooks/conversion)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kapy.api.conversion.moves import CONDITIONS_MOVED
from kapy.api.conversion.spoke import Spoke

SPOKES: Final[Mapping[tuple[str, str], Spoke]] = {
    ("ClusterResourceSet", "v1beta1"): CONDITIONS_MOVED
}
