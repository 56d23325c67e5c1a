"""ClusterResourceSetBinding in v1beta1 (upstream's core/webhooks/conversion)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kapy.api.conversion.spoke import ReferenceVersion, Spoke
from kapy.kube import Document


def _to_hub(binding: Document, _: Document | None) -> None:
    spec = binding["spec"]
    spec["bindings"] = [one or {} for one in spec.get("bindings", ())]


def _from_hub(binding: Document, _: ReferenceVersion) -> None:
    """v1beta1 has null for a binding with nothing in it."""
    spec = binding.get("spec", {})
    spec["bindings"] = [one or None for one in spec.get("bindings", ())]


SPOKES: Final[Mapping[tuple[str, str], Spoke]] = {
    ("ClusterResourceSetBinding", "v1beta1"): Spoke(_to_hub, _from_hub, remembers=False)
}
