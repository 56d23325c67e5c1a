"""ClusterResourceSets and IP addresses in v1beta1."""

from typing import Annotated, Final

from kapy.api import cluster_resource_set, cluster_resource_set_binding, ip_address
from kapy.api.cluster_resource_set_binding import ResourceSetBinding
from kapy.api.core_v1 import LocalObjectReference, TypedLocalObjectReference
from kapy.api.older.difference import Difference, added, looser, optional, removed, retyped
from kapy.api.v1beta1.embedded import CONDITIONS, V1Beta2
from kapy.kube.model import rules

ADDRESS_REF: Final = Annotated[LocalObjectReference, rules(zero="written")]
IP_ADDRESS: Final = Difference(
    ip_address.IPAddressSpec,
    retyped(claim_ref=LocalObjectReference, pool_ref=TypedLocalObjectReference, prefix=int),
)

DIFFERENCES: Final = (
    Difference(cluster_resource_set.ResourceRef),
    Difference(
        cluster_resource_set.ClusterResourceSetSpec, optional("resources"), looser("resources")
    ),
    Difference(
        cluster_resource_set.ClusterResourceSetStatus,
        removed("deprecated"),
        retyped(**CONDITIONS),
        looser("observed_generation"),
        added(v1beta2=V1Beta2),
    ),
    Difference(cluster_resource_set_binding.ResourceBinding),
    Difference(cluster_resource_set_binding.ResourceSetBinding, looser("resources")),
    Difference(
        cluster_resource_set_binding.ClusterResourceSetBindingSpec,
        retyped(
            bindings=Annotated[
                list[ResourceSetBinding | None],
                rules(max_items=100),
            ]
        ),
        optional("cluster_name"),
    ),
    # The released definition has the subresource, and no status.
    Difference(cluster_resource_set_binding.ClusterResourceSetBinding, status_subresource=True),
    IP_ADDRESS,
    Difference(ip_address.IPAddressClaimSpec, retyped(pool_ref=TypedLocalObjectReference)),
    Difference(
        ip_address.IPAddressClaimStatus,
        removed("deprecated"),
        retyped(**CONDITIONS, address_ref=ADDRESS_REF),
        added(v1beta2=V1Beta2),
    ),
)
