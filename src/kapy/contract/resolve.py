"""Resolve a reference by group and kind to the served resource and its contract version.

A CRD declares by labels which of its versions implement which contract: `cluster.x-k8s.io/v1beta2:
v1beta2_v1beta3`. The newest supported contract wins, and of its versions the newest one that the
CRD has and serves. The CRD is found by its name, which follows from group and kind.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from kapy.api.names import CLUSTER_GROUP
from kapy.contract.errors import NoContract, NoVersion
from kapy.contract.fields import Version
from kapy.kube import Document
from kapy.kube.names import GroupKind, Resource
from kapy.kube.plural import plural

_NEWEST_FIRST: Final = (Version.V1BETA2, Version.V1BETA1)
_OVERVIEW: Final = (
    "https://cluster-api.sigs.k8s.io/developer/providers/contracts/overview.html#api-version-labels"
)
_KUBE_VERSION: Final = re.compile(r"v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?")
_LAST_CHARACTER: Final = 0x10FFFF
_STAGES: Final = {"alpha": 0, "beta": 1, None: 2}


def crd_name(group: str, kind: str) -> str:
    """Return `<plural>.<group>`, the CRD name that the contract requires."""
    return f"{plural(kind.lower())}.{group}"


class Resolved(NamedTuple):
    """The resource of a kind, and the contract of its objects."""

    resource: Resource
    contract: Version


def resolve(kind: GroupKind, crd: Document) -> Resolved:
    """Resolve a kind by its CRD. Raises NoContract and NoVersion."""
    metadata, spec = crd["metadata"], crd.get("spec") or {}
    labels = metadata.get("labels") or {}
    for contract in _NEWEST_FIRST:
        label = f"{CLUSTER_GROUP}/{contract}"
        if listed := labels.get(label):
            newest = _newest(crd, label, listed)
            plural = (spec.get("names") or {}).get("plural") or metadata["name"].partition(".")[0]
            namespaced = spec.get("scope", "Namespaced") == "Namespaced"
            return Resolved(
                Resource(kind.group, newest, plural, kind.kind, namespaced=namespaced), contract
            )
    contracts = " ".join(_NEWEST_FIRST)
    raise NoContract(
        f'cannot find any versions matching contract versions "[{contracts}]" for CRD '
        f"{metadata.get('name') or crd_name(*kind)} as contract version label(s) are either "
        f"missing or empty (see {_OVERVIEW})"
    )


def contract_of(crd: Document, version: str) -> Version:
    """Return the newest contract that a version of the CRD implements. Raises NoContract."""
    labels = crd["metadata"].get("labels") or {}
    for contract in _NEWEST_FIRST:
        if version in labels.get(f"{CLUSTER_GROUP}/{contract}", "").split("_"):
            return contract
    labels = " or ".join(f"{CLUSTER_GROUP}/{item}" for item in _NEWEST_FIRST)
    raise NoContract(
        f"no label {labels} of CRD {crd['metadata']['name']} names version {version}, so that "
        f"nobody knows by which contract its objects are to be read (see {_OVERVIEW})"
    )


def _newest(crd: Document, label: str, listed: str) -> str:
    """Return the newest served version in a label. Raises NoVersion."""
    served = {
        version["name"]: version.get("served") for version in crd["spec"].get("versions") or ()
    }
    named = sorted(listed.split("_"), key=version_priority, reverse=True)
    newest = next((item for item in named if served.get(item)), None)
    if newest is not None:
        return newest
    value = f"version {named[0]}" if len(named) == 1 else f"versions {', '.join(named)}"
    problem = "which it does not serve" if named[0] in served else "which it does not have"
    usable = ", ".join(name for name, is_served in served.items() if is_served) or "none"
    raise NoVersion(
        f"CRD {crd['metadata']['name']} has the label {label}: {listed}, but this names {value}, "
        f"{problem} (versions that it serves: {usable})"
    )


def version_priority(version: str) -> tuple[int, int, int, int, str]:
    """Sort key of API versions: v2 > v1 > v1beta2 > v1beta1 > v1alpha1 > anything else."""
    match = _KUBE_VERSION.fullmatch(version)
    if match is None:
        # Of versions with other names than Kubernetes', the alphabetically first one is the newest.
        turned = "".join(chr(_LAST_CHARACTER - ord(item)) for item in version)
        return 0, 0, 0, 0, turned + chr(_LAST_CHARACTER)
    major, stage, minor = match.groups()
    return 1, _STAGES[stage], int(major), int(minor or 0), ""
