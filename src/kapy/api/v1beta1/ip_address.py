"""IPAddress and IPAddressClaim as v1beta1 served them."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.core_v1 import LocalObjectReference, TypedLocalObjectReference
from kapy.api.ip_address import Address, ClusterName, Gateway
from kapy.api.v1beta1.embedded import OldConditions, V1Beta2
from kapy.api.v1beta1.model import OldModel, OldObject
from kapy.kube.model import rules
from kapy.kube.names import Resource


class IPAddressSpec(OldModel):
    """An address, and for whom it is."""

    claim_ref: Annotated[LocalObjectReference, rules("The claim that the address answers.")]
    pool_ref: Annotated[
        TypedLocalObjectReference, rules("The pool that the address was taken from.")
    ]
    address: Address
    prefix: Annotated[int, rules("The length of the network's prefix in bits.")]
    gateway: Gateway = ""


def no_address() -> IPAddressSpec:
    """What stands for a specification that is absent."""
    return IPAddressSpec(claim_ref=LocalObjectReference(), pool_ref=no_pool(), address="", prefix=0)


def no_pool() -> TypedLocalObjectReference:
    """What stands for a pool that is absent."""
    return TypedLocalObjectReference(kind="", name="")


class IPAddressClaimSpec(OldModel, kw_only=True):
    """What is asked for."""

    cluster_name: ClusterName = ""
    pool_ref: Annotated[TypedLocalObjectReference, rules("The pool to take the address from.")]


class IPAddressClaimStatus(OldModel):
    """What became of the claim."""

    address_ref: Annotated[LocalObjectReference, rules("The address that answers the claim.")] = (
        field(default_factory=LocalObjectReference)
    )
    conditions: OldConditions = field(default_factory=list)
    v1beta2: V1Beta2 = None


class IPAddress(OldObject, kw_only=True):
    """An address that was taken from a pool for a claim."""

    RESOURCE: ClassVar[Resource] = Resource(
        "ipam.cluster.x-k8s.io", "v1beta1", "ipaddresses", "IPAddress"
    )

    spec: Annotated[IPAddressSpec, rules("The address, and for whom it is.")] = field(
        default_factory=no_address
    )


class IPAddressClaim(OldObject, kw_only=True):
    """Asks a pool for an address."""

    RESOURCE: ClassVar[Resource] = Resource(
        "ipam.cluster.x-k8s.io", "v1beta1", "ipaddressclaims", "IPAddressClaim"
    )

    spec: Annotated[IPAddressClaimSpec, rules("What is asked for.")] = field(
        default_factory=lambda: IPAddressClaimSpec(pool_ref=no_pool())
    )
    status: Annotated[IPAddressClaimStatus, rules("What became of the claim.")] = field(
        default_factory=IPAddressClaimStatus
    )
