"""IPAddress and IPAddressClaim as v1beta1 served them."""

from typing import ClassVar

from msgspec import field

from kapy.api.core_v1 import LocalObjectReference, TypedLocalObjectReference
from kapy.api.ip_address import Address, ClusterName, Gateway
from kapy.api.v1beta1.embedded import OldConditions, V1Beta2
from kapy.api.v1beta1.model import OldModel, OldObject
from kapy.kube.names import Resource


class IPAddressSpec(OldModel):
    claim_ref: LocalObjectReference
    pool_ref: TypedLocalObjectReference
    address: Address
    prefix: int
    gateway: Gateway = ""


def no_address() -> IPAddressSpec:
    """What stands for a specification that is absent."""
    return IPAddressSpec(claim_ref=LocalObjectReference(), pool_ref=no_pool(), address="", prefix=0)


def no_pool() -> TypedLocalObjectReference:
    """What stands for a pool that is absent."""
    return TypedLocalObjectReference(kind="", name="")


class IPAddressClaimSpec(OldModel, kw_only=True):
    cluster_name: ClusterName = ""
    pool_ref: TypedLocalObjectReference


class IPAddressClaimStatus(OldModel):
    address_ref: LocalObjectReference = field(default_factory=LocalObjectReference)
    conditions: OldConditions = field(default_factory=list)
    v1beta2: V1Beta2 = None


class IPAddress(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "ipam.cluster.x-k8s.io", "v1beta1", "ipaddresses", "IPAddress"
    )

    spec: IPAddressSpec = field(default_factory=no_address)


class IPAddressClaim(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "ipam.cluster.x-k8s.io", "v1beta1", "ipaddressclaims", "IPAddressClaim"
    )

    spec: IPAddressClaimSpec = field(default_factory=lambda: IPAddressClaimSpec(pool_ref=no_pool()))
    status: IPAddressClaimStatus = field(default_factory=IPAddressClaimStatus)
