"""Credentials of tenants: the account with which a provider manages the objects of a cluster.

    tenants = TenantCredentials(runtime, PaperCluster.RESOURCE, identity=PaperIdentity.RESOURCE,
                                finalizer="paper.example.dev/credentials",
                                namespace="paper-system")
    add_infra_cluster(runtime, PaperCluster, land, finalizer=…, credentials=tenants)

The context of each call then has its `credential`.
"""

from kapy.sdk.credential_types import Credential, IdentityReference, Sessions
from kapy.sdk.credentials_of_tenants import TenantCredentials

__all__ = [
    "Credential",
    "IdentityReference",
    "Sessions",
    "TenantCredentials",
]
