"""ExtensionConfig, IPAddress and IPAddressClaim in v1alpha1."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from kapy.api import extension_config, ip_address
from kapy.api.names import Label
from kapy.api.older.difference import Difference, Place
from kapy.api.older.documents import put, value_at
from kapy.api.older.rows import (
    custom,
    drop,
    pointers,
    restore,
    retype,
)
from kapy.api.older.status import conditions
from kapy.api.v1beta1.addons import ADDRESS_REF, IP_ADDRESS, POOL_REF
from kapy.api.v1beta1.embedded import V1Beta2
from kapy.kube import Document
from kapy.kube.model import rules

LABEL_WAS_SET: Final = "conversion.cluster.x-k8s.io/cluster-name-label-set"
"""The annotation that says "false" when conversion added the label of the cluster's name."""


def _upgrade_claim(claim: Document, _: Document | None, __: Place) -> None:
    labels = claim["metadata"].get("labels") or {}
    put(claim["spec"], "clusterName", labels.get(Label.CLUSTER_NAME))
    if labels:
        claim["metadata"] = _without_note(claim["metadata"], labels)


def _downgrade_claim(claim: Document, _: Place) -> None:
    if name := value_at(claim, "spec", "clusterName"):
        metadata = claim["metadata"]
        labels = metadata.get("labels") or {}
        annotations = dict(metadata.get("annotations") or {})
        if Label.CLUSTER_NAME not in labels:
            annotations[LABEL_WAS_SET] = "false"
        labels = {**labels, Label.CLUSTER_NAME: name}
        claim["metadata"] = _with(metadata, labels=labels, annotations=annotations)


def _without_note(metadata: Document, labels: Mapping[str, str]) -> Document:
    annotations = dict(metadata.get("annotations") or {})
    was_set = annotations.pop(LABEL_WAS_SET, None)
    if was_set is None:
        return metadata
    if was_set == "false":
        labels = {key: value for key, value in labels.items() if key != Label.CLUSTER_NAME}
    return _with(metadata, labels=labels, annotations=annotations)


def _with(metadata: Document, **parts: Any) -> Document:
    """Return the metadata with other parts; an empty part is left out."""
    others = {key: value for key, value in metadata.items() if key not in parts}
    return others | {key: value for key, value in parts.items() if value}


DIFFERENCES: Final = (
    Difference(extension_config.ServiceReference, pointers("path")),
    Difference(extension_config.ClientConfig, pointers("url")),
    Difference(extension_config.ExtensionConfigSpec),
    Difference(extension_config.GroupVersionHook),
    Difference(
        extension_config.ExtensionHandler,
        retype(timeout_seconds=Annotated[int | None, rules(format="int32")]),
        pointers("failure_policy"),
    ),
    Difference(
        extension_config.ExtensionConfigStatus,
        conditions(V1Beta2),
    ),
    IP_ADDRESS,
    Difference(ip_address.IPAddressClaimSpec, drop("cluster_name"), *POOL_REF),
    Difference(
        ip_address.IPAddressClaimStatus, ADDRESS_REF, conditions(None), restore("conditions")
    ),
    Difference(ip_address.IPAddressClaim, custom(_upgrade_claim, _downgrade_claim)),
)
