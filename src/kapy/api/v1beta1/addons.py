"""ClusterResourceSets and IP addresses in v1beta1."""

from typing import Annotated, Final

from kapy.api import cluster_resource_set, cluster_resource_set_binding, ip_address
from kapy.api.cluster_resource_set_binding import ResourceSetBinding
from kapy.api.core_v1 import LocalObjectReference, TypedLocalObjectReference
from kapy.api.older.difference import Difference, Place, Row
from kapy.api.older.documents import put
from kapy.api.older.rows import (
    custom,
    loosen,
    make_optional,
    retype,
)
from kapy.api.older.status import conditions
from kapy.api.v1beta1.embedded import V1Beta2
from kapy.kube import Document
from kapy.kube.model import rules


def _upgrade_pool(spec: Document, _: Document | None, __: Place) -> None:
    pool = spec["poolRef"]
    put(pool, "apiGroup", pool["apiGroup"])


def _upgrade_bindings(spec: Document, _: Document | None, __: Place) -> None:
    spec["bindings"] = [binding or {} for binding in spec.get("bindings", ())]


def _downgrade_bindings(spec: Document, _: Place) -> None:
    """Write an empty binding as null, as v1beta1 does."""
    spec["bindings"] = [binding or None for binding in spec.get("bindings", ())]


_POOL: Final = custom(_upgrade_pool, None)
ADDRESS_REF: Final = retype(address_ref=Annotated[LocalObjectReference, rules(zero="written")])
IP_ADDRESS: Final = Difference(
    ip_address.IPAddressSpec,
    retype(claim_ref=LocalObjectReference, pool_ref=TypedLocalObjectReference, prefix=int),
    _POOL,
)
POOL_REF: Final[tuple[Row, ...]] = (retype(pool_ref=TypedLocalObjectReference), _POOL)

DIFFERENCES: Final = (
    Difference(cluster_resource_set.ResourceRef),
    Difference(
        cluster_resource_set.ClusterResourceSetSpec, make_optional("resources"), loosen("resources")
    ),
    Difference(
        cluster_resource_set.ClusterResourceSetStatus,
        loosen("observed_generation"),
        conditions(V1Beta2),
    ),
    Difference(cluster_resource_set_binding.ResourceBinding),
    Difference(cluster_resource_set_binding.ResourceSetBinding, loosen("resources")),
    Difference(
        cluster_resource_set_binding.ClusterResourceSetBindingSpec,
        retype(bindings=Annotated[list[ResourceSetBinding | None], rules(max_items=100)]),
        make_optional("cluster_name"),
        custom(_upgrade_bindings, _downgrade_bindings),
    ),
    # The released definition has the subresource, and no status.
    Difference(cluster_resource_set_binding.ClusterResourceSetBinding, status_subresource=True),
    IP_ADDRESS,
    Difference(ip_address.IPAddressClaimSpec, *POOL_REF),
    Difference(ip_address.IPAddressClaimStatus, ADDRESS_REF, conditions(V1Beta2)),
)
