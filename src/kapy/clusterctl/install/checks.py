"""Checks whether a management cluster will work with the providers to be installed.

Upstream: `Validate` of `cmd/clusterctl/client/cluster/installer.go`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.clusterctl.components import Components
from kapy.clusterctl.config import Config
from kapy.clusterctl.contracts import contract_of
from kapy.clusterctl.errors import ComponentsError, InventoryError
from kapy.clusterctl.inventory import (
    CONTRACT,
    Installed,
    compatible,
    core_of,
    installed_of,
    named,
)
from kapy.contract.crd_names import crd_name
from kapy.kube import Document
from kapy.kube.names import CRDS

UNCHECKED_NAME: Final = "clusterctl.cluster.x-k8s.io/skip-crd-name-preflight-check"
"""Annotation of CRDs that core objects do not refer to; their names are not checked."""


async def check(
    queued: Sequence[Components], installed: Sequence[Installed], config: Config
) -> None:
    """Raises InventoryError, ComponentsError, MetadataError, RepositoryError.

    It requires one instance of each provider, contracts compatible with the core provider's, and
    the CRD names that core derives from the kinds.
    """
    after = list(installed)
    for one in queued:
        _check_new(one, after)
        after.append(installed_of(one.inventory_object))
    await _check_contracts(queued, core_of(after), config)
    for one in queued:
        _check_names(one.objects)


def _check_new(one: Components, there: Iterable[Installed]) -> None:
    instances = named(there, one.provider.name, one.provider.type)
    if instances:
        label, places = one.provider.label, ", ".join(each.namespace for each in instances)
        raise InventoryError(
            f'installing provider "{label}" can lead to a non functioning management cluster: '
            f'there is already an instance of the "{label}" provider installed in the "{places}" '
            f"namespace ({', '.join(each.version for each in instances)}); `upgrade apply` "
            "changes its version, `delete` takes it away"
        )


async def _check_contracts(queued: Sequence[Components], core: Installed, config: Config) -> None:
    asked = [core, *(installed_of(one.inventory_object) for one in queued)]
    contracts = await bounded_gather(partial(contract_of, one, config) for one in asked)
    for one, contract in zip(asked, contracts, strict=True):
        if contract not in compatible(CONTRACT):
            raise InventoryError(
                "current version of clusterctl is only compatible with providers implementing the "
                f"{', '.join(compatible(CONTRACT))} contract versions, detected contract version "
                f"{contract} for provider {one.label}"
            )
    allowed = compatible(contracts[0])
    for one, contract in zip(asked, contracts, strict=True):
        if contract not in allowed:
            raise InventoryError(
                f'installing provider "{one.label}" could lead to a non functioning management '
                f"cluster: the target version for the provider implements the {contract} contract "
                f"version, while the core provider is compatible with {', '.join(allowed)} "
                "contract versions; choose another version of either"
            )


def _check_names(objects: Iterable[Document]) -> None:
    for one in objects:
        annotations = one["metadata"].get("annotations") or {}
        if one["kind"] != CRDS.kind or UNCHECKED_NAME in annotations:
            continue
        spec, name = one["spec"], one["metadata"]["name"]
        correct = crd_name(spec["group"], spec["names"]["kind"])
        if name != correct:
            raise ComponentsError(
                f'CRD name "{name}" is invalid for a CRD referenced in a core Cluster API CRD, it '
                f'should be "{correct}". If it is not referenced there, the annotation '
                f"{UNCHECKED_NAME} says so"
            )
