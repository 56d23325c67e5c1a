"""IPAddress and IPAddressClaim as v1alpha1 served them."""

from typing import ClassVar

from msgspec import field

from kapy.api.core_v1 import LocalObjectReference, TypedLocalObjectReference
from kapy.api.v1beta1.embedded import OldConditions
from kapy.api.v1beta1.ip_address import IPAddressSpec, no_address, no_pool
from kapy.api.v1beta1.model import OldModel, OldObject
from kapy.kube.names import Resource


class IPAddressClaimSpec(OldModel):
    pool_ref: TypedLocalObjectReference


class IPAddressClaimStatus(OldModel):
    address_ref: LocalObjectReference = field(default_factory=LocalObjectReference)
    conditions: OldConditions = field(default_factory=list)


class IPAddress(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "ipam.cluster.x-k8s.io", "v1alpha1", "ipaddresses", "IPAddress"
    )

    spec: IPAddressSpec = field(default_factory=no_address)


class IPAddressClaim(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "ipam.cluster.x-k8s.io", "v1alpha1", "ipaddressclaims", "IPAddressClaim"
    )

    spec: IPAddressClaimSpec = field(default_factory=lambda: IPAddressClaimSpec(pool_ref=no_pool()))
    status: IPAddressClaimStatus = field(default_factory=IPAddressClaimStatus)
