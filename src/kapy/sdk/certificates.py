"""Certificates and kubeconfigs of clusters, for bootstrap and control plane providers.

    ca = await context.keys.ensure(ClusterCertificate("ca"))

Their Secrets have upstream's names and keys, such as `<cluster>-ca`.
"""

from kapy.kube.pki import KeyPair
from kapy.sdk.certificate_specs import CA_LIFE, ClusterCertificate
from kapy.sdk.cluster_certificates import ClusterCertificates, ClusterKeys, StoredCertificate
from kapy.sdk.kubeconfigs import Kubeconfigs

__all__ = [
    "CA_LIFE",
    "ClusterCertificate",
    "ClusterCertificates",
    "ClusterKeys",
    "KeyPair",
    "Kubeconfigs",
    "StoredCertificate",
]
