"""IPAddress, and IPAddressClaim, the request for an address of a pool."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.patterns import DNS_SUBDOMAIN, KIND
from kapy.api.status import Conditions, Deprecated
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource

Address = Annotated[
    str,
    rules(
        "address is the allocated IP address, as IPv4 or IPv6, without a prefix length. "
        "Admission rejects anything else.",
        min_length=1,
        max_length=39,
    ),
]
Gateway = Annotated[
    str,
    rules(
        "gateway is the IP address of the gateway of the network. It is not set if the "
        "network has no gateway.",
        min_length=1,
        max_length=39,
    ),
]
ClusterName = Annotated[
    str,
    rules(
        "clusterName is the name of the Cluster to which the claim belongs. While this "
        "Cluster is paused, the IPAM provider does not process the claim.",
        min_length=1,
        max_length=63,
    ),
]


class IPAddressClaimReference(Model):
    """IPAddressClaimReference is a reference to an IPAddressClaim in the same namespace."""

    name: Annotated[
        str,
        rules(
            "name is the name of the IPAddressClaim. It must be in the same namespace.",
            min_length=1,
            max_length=253,
            pattern=DNS_SUBDOMAIN,
        ),
    ]


class IPAddressReference(Model):
    """IPAddressReference is a reference to an IPAddress in the same namespace."""

    name: Annotated[
        str,
        rules(
            "name is the name of the IPAddress. It is in the same namespace as the claim.",
            min_length=1,
            max_length=253,
            pattern=DNS_SUBDOMAIN,
        ),
    ]


class IPPoolReference(Model):
    """IPPoolReference is a reference to a pool of addresses. An IPAM provider defines the kind
    of the pool.
    """

    name: Annotated[
        str,
        rules(
            "name is the name of the pool. A pool with a namespace must be in the namespace "
            "of the claim.",
            min_length=1,
            max_length=253,
            pattern=DNS_SUBDOMAIN,
        ),
    ]
    kind: Annotated[
        str,
        rules(
            "kind is the kind of the pool. The IPAM provider that defines this kind answers "
            "the claim.",
            min_length=1,
            max_length=63,
            pattern=KIND,
        ),
    ]
    api_group: Annotated[
        str,
        rules(
            "apiGroup is the API group of the pool, without a version.",
            min_length=1,
            max_length=253,
            pattern=DNS_SUBDOMAIN,
        ),
    ]


class IPAddressSpec(Model):
    """IPAddressSpec is the desired state of an IPAddress. It is immutable."""

    claim_ref: Annotated[
        IPAddressClaimReference,
        rules(
            "claimRef is a reference to the IPAddressClaim for which the address was "
            "allocated. Claim and address have a one-to-one relation."
        ),
    ]
    pool_ref: Annotated[
        IPPoolReference,
        rules(
            "poolRef is a reference to the pool from which the address was allocated. It "
            "must equal the poolRef of the claim."
        ),
    ]
    address: Address
    prefix: Annotated[
        int,
        rules(
            "prefix is the length of the network's prefix in bits. Allowed values are 0 to "
            "32 for IPv4 and 0 to 128 for IPv6.",
            format="int32",
            minimum=0,
            maximum=128,
            zero="kept",
        ),
    ]
    gateway: Gateway = ""


class IPAddressClaimSpec(Model, kw_only=True):
    """IPAddressClaimSpec is the desired state of an IPAddressClaim. It is immutable."""

    cluster_name: ClusterName = ""
    pool_ref: Annotated[
        IPPoolReference,
        rules(
            "poolRef is a reference to the pool from which an address is requested. The "
            "provider of the pool allocates it."
        ),
    ]


class IPAddressClaimStatus(Model):
    """IPAddressClaimStatus is the observed state of an IPAddressClaim."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Annotated[
        Conditions,
        rules(
            "conditions are the observations of the IPAddressClaim's current state. The IPAM "
            "provider decides on the types. Ready is usual."
        ),
    ] = field(default_factory=list)
    address_ref: Annotated[
        IPAddressReference | None,
        rules(
            "addressRef is a reference to the IPAddress that was allocated for the claim. "
            "The IPAM provider sets it together with the Ready condition.",
            zero="omitted",
        ),
    ] = None
    deprecated: Deprecated = None


class IPAddress(Object, kw_only=True):
    """IPAddress is an IP address that an IPAM provider has allocated from a pool for a claim."""

    RESOURCE: ClassVar[Resource] = Resource(
        "ipam.cluster.x-k8s.io", "v1beta2", "ipaddresses", "IPAddress"
    )

    spec: Annotated[
        IPAddressSpec,
        rules(
            "spec is the allocated address and its origin. The IPAM provider writes it once. "
            "This field is immutable."
        ),
    ]


class IPAddressClaim(Object, kw_only=True):
    """IPAddressClaim requests the allocation of an IP address from a pool."""

    RESOURCE: ClassVar[Resource] = Resource(
        "ipam.cluster.x-k8s.io", "v1beta2", "ipaddressclaims", "IPAddressClaim"
    )

    spec: Annotated[IPAddressClaimSpec, rules("spec is the request. This field is immutable.")]
    status: Annotated[
        IPAddressClaimStatus,
        rules("status is the observed state of the IPAddressClaim. The IPAM provider writes it."),
    ] = field(default_factory=IPAddressClaimStatus)
