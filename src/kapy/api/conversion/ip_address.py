"""IPAddress and IPAddressClaim in v1alpha1 and v1beta1 (upstream's core/webhooks/conversion)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kapy.api.conversion.moves import CONDITIONS_MOVED, put, value_at
from kapy.api.conversion.spoke import SAME, ReferenceVersion, Spoke
from kapy.api.names import Label
from kapy.kube import Document

LABEL_WAS_SET: Final = "conversion.cluster.x-k8s.io/cluster-name-label-set"
"""The annotation that says "false" when conversion added the label of the cluster's name."""


def _address_to_hub(address: Document, _: Document | None) -> None:
    _pool_to_hub(address["spec"])


def _pool_to_hub(spec: Document) -> None:
    pool = spec["poolRef"]
    put(pool, "apiGroup", pool["apiGroup"])


def _claim_to_hub(claim: Document, remembered: Document | None) -> None:
    _pool_to_hub(claim["spec"])
    CONDITIONS_MOVED.to_hub(claim, remembered)


def _labelled_claim_to_hub(claim: Document, remembered: Document | None) -> None:
    _claim_to_hub(claim, remembered)
    labels = claim["metadata"].get("labels") or {}
    put(claim["spec"], "clusterName", labels.get(Label.CLUSTER_NAME))
    if labels:
        claim["metadata"] = _without_note(claim["metadata"], labels)
    put(claim["status"], "conditions", value_at(remembered, "status", "conditions"))


def _without_note(metadata: Document, labels: Mapping[str, str]) -> Document:
    annotations = dict(metadata.get("annotations") or {})
    was_set = annotations.pop(LABEL_WAS_SET, None)
    if was_set is None:
        return metadata
    if was_set == "false":
        labels = {key: value for key, value in labels.items() if key != Label.CLUSTER_NAME}
    return _with(metadata, labels=labels, annotations=annotations)


def _labelled_claim_from_hub(claim: Document, version: ReferenceVersion) -> None:
    CONDITIONS_MOVED.from_hub(claim, version)
    if name := value_at(claim, "spec", "clusterName"):
        metadata = claim["metadata"]
        labels = metadata.get("labels") or {}
        annotations = dict(metadata.get("annotations") or {})
        if Label.CLUSTER_NAME not in labels:
            annotations[LABEL_WAS_SET] = "false"
        labels = {**labels, Label.CLUSTER_NAME: name}
        claim["metadata"] = _with(metadata, labels=labels, annotations=annotations)


def _with(metadata: Document, **parts: Any) -> Document:
    """The metadata with other parts; an empty one is left out."""
    others = {key: value for key, value in metadata.items() if key not in parts}
    return others | {key: value for key, value in parts.items() if value}


SPOKES: Final[Mapping[tuple[str, str], Spoke]] = {
    ("IPAddress", "v1alpha1"): Spoke(_address_to_hub, SAME.from_hub, remembers=False),
    ("IPAddress", "v1beta1"): Spoke(_address_to_hub, SAME.from_hub, remembers=False),
    ("IPAddressClaim", "v1alpha1"): Spoke(_labelled_claim_to_hub, _labelled_claim_from_hub),
    ("IPAddressClaim", "v1beta1"): Spoke(_claim_to_hub, CONDITIONS_MOVED.from_hub, remembers=False),
}
