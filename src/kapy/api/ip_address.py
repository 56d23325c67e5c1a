"""IPAddress, and IPAddressClaim, which asks a pool for one."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.patterns import DNS_SUBDOMAIN, KIND
from kapy.api.status import Conditions, Deprecated
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource

Address = Annotated[str, rules("The address.", min_length=1, max_length=39)]
Gateway = Annotated[str, rules("The gateway of the network.", min_length=1, max_length=39)]
ClusterName = Annotated[
    str, rules("The Cluster that the claim belongs to.", min_length=1, max_length=63)
]


class IPAddressClaimReference(Model):
    """Names a claim."""

    name: Annotated[
        str, rules("The claim's name.", min_length=1, max_length=253, pattern=DNS_SUBDOMAIN)
    ]


class IPAddressReference(Model):
    """Names an address."""

    name: Annotated[
        str, rules("The IPAddress's name.", min_length=1, max_length=253, pattern=DNS_SUBDOMAIN)
    ]


class IPPoolReference(Model):
    """Names a pool of addresses, of a kind that an IPAM provider brings."""

    name: Annotated[
        str, rules("The pool's name.", min_length=1, max_length=253, pattern=DNS_SUBDOMAIN)
    ]
    kind: Annotated[str, rules("The pool's kind.", min_length=1, max_length=63, pattern=KIND)]
    api_group: Annotated[
        str,
        rules(
            "The API group of the pool's kind.",
            min_length=1,
            max_length=253,
            pattern=DNS_SUBDOMAIN,
        ),
    ]


class IPAddressSpec(Model):
    """An address, and for whom it is."""

    claim_ref: Annotated[IPAddressClaimReference, rules("The claim that the address answers.")]
    pool_ref: Annotated[IPPoolReference, rules("The pool that the address was taken from.")]
    address: Address
    prefix: Annotated[
        int,
        rules(
            "The length of the network's prefix in bits.",
            format="int32",
            minimum=0,
            maximum=128,
            zero="kept",
        ),
    ]
    gateway: Gateway = ""


class IPAddressClaimSpec(Model, kw_only=True):
    """What is asked for."""

    cluster_name: ClusterName = ""
    pool_ref: Annotated[IPPoolReference, rules("The pool to take the address from.")]


class IPAddressClaimStatus(Model):
    """What became of the claim."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Conditions = field(default_factory=list)
    address_ref: Annotated[
        IPAddressReference | None,
        rules("The address that answers the claim.", zero="omitted"),
    ] = None
    deprecated: Deprecated = None


class IPAddress(Object, kw_only=True):
    """An address that was taken from a pool for a claim."""

    RESOURCE: ClassVar[Resource] = Resource(
        "ipam.cluster.x-k8s.io", "v1beta2", "ipaddresses", "IPAddress"
    )

    spec: Annotated[IPAddressSpec, rules("The address, and for whom it is.")]


class IPAddressClaim(Object, kw_only=True):
    """Asks a pool for an address."""

    RESOURCE: ClassVar[Resource] = Resource(
        "ipam.cluster.x-k8s.io", "v1beta2", "ipaddressclaims", "IPAddressClaim"
    )

    spec: Annotated[IPAddressClaimSpec, rules("What is asked for.")]
    status: Annotated[IPAddressClaimStatus, rules("What became of the claim.")] = field(
        default_factory=IPAddressClaimStatus
    )
