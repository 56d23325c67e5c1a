"""kubeadm's own configuration files, written from and read into Cluster API's types.

Cluster API's `clusterConfiguration`, `initConfiguration` and `joinConfiguration` are close to
kubeadm's v1beta4; which version a machine's kubeadm reads follows from its Kubernetes version.
Both directions work on documents, as they travel.
"""

from kapy.providers.kubeadm.configuration.apiversion import (
    UnsupportedVersion,
    kubeadm_api_version,
)
from kapy.providers.kubeadm.configuration.cluster_facts import ClusterFacts
from kapy.providers.kubeadm.configuration.reading import (
    UnknownConfiguration,
    read_cluster_configuration,
    read_init_configuration,
    read_join_configuration,
)
from kapy.providers.kubeadm.configuration.writing import (
    cluster_configuration_file,
    init_configuration_file,
    join_configuration_file,
)

__all__ = [
    "ClusterFacts",
    "UnknownConfiguration",
    "UnsupportedVersion",
    "cluster_configuration_file",
    "init_configuration_file",
    "join_configuration_file",
    "kubeadm_api_version",
    "read_cluster_configuration",
    "read_init_configuration",
    "read_join_configuration",
]
