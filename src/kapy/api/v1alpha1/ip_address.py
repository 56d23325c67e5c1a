"""IPAddress and IPAddressClaim as v1alpha1 served them."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.core_v1 import LocalObjectReference, TypedLocalObjectReference
from kapy.api.v1beta1.embedded import OldConditions
from kapy.api.v1beta1.ip_address import IPAddressSpec, no_address, no_pool
from kapy.api.v1beta1.model import OldModel, OldObject
from kapy.kube.model import rules
from kapy.kube.names import Resource


class IPAddressClaimSpec(OldModel):
    """What is asked for."""

    pool_ref: Annotated[TypedLocalObjectReference, rules("The pool to take the address from.")]


class IPAddressClaimStatus(OldModel):
    """What became of the claim."""

    address_ref: Annotated[LocalObjectReference, rules("The address that answers the claim.")] = (
        field(default_factory=LocalObjectReference)
    )
    conditions: OldConditions = field(default_factory=list)


class IPAddress(OldObject, kw_only=True):
    """An address that was taken from a pool for a claim."""

    RESOURCE: ClassVar[Resource] = Resource(
        "ipam.cluster.x-k8s.io", "v1alpha1", "ipaddresses", "IPAddress"
    )

    spec: Annotated[IPAddressSpec, rules("The address, and for whom it is.")] = field(
        default_factory=no_address
    )


class IPAddressClaim(OldObject, kw_only=True):
    """Asks a pool for an address."""

    RESOURCE: ClassVar[Resource] = Resource(
        "ipam.cluster.x-k8s.io", "v1alpha1", "ipaddressclaims", "IPAddressClaim"
    )

    spec: Annotated[IPAddressClaimSpec, rules("What is asked for.")] = field(
        default_factory=lambda: IPAddressClaimSpec(pool_ref=no_pool())
    )
    status: Annotated[IPAddressClaimStatus, rules("What became of the claim.")] = field(
        default_factory=IPAddressClaimStatus
    )
