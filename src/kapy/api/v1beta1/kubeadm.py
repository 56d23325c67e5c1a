"""kubeadm's ClusterConfiguration as v1beta1 had it: arguments were a map."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api import kubeadm, kubeadm_components
from kapy.api.env_vars import EnvVar
from kapy.api.v1beta1.model import OldModel
from kapy.kube import Document
from kapy.kube.model import rules

_Name = Annotated[str, rules(min_length=1, max_length=253)]
_ExtraArgs = dict[str, str]
_ExtraEnvs = Annotated[list[EnvVar], rules(max_items=100)]

ApiVersion = Annotated[
    str,
    rules(
        "apiVersion is the version of the API of kubeadm. It is ignored. Cluster API "
        "selects the version according to the Kubernetes version."
    ),
]
Kind = Annotated[
    str,
    rules(
        "kind is the kind in the API of kubeadm. It is ignored. Cluster API selects the "
        "kind according to the use."
    ),
]


class HostPathMount(kubeadm_components.HostPathMount):
    ZEROS: ClassVar[bool] = True

    read_only: bool = False


class ControlPlaneComponent(OldModel):
    extra_args: _ExtraArgs = field(default_factory=dict)
    extra_volumes: Annotated[
        list[HostPathMount],
        rules(max_items=100),
    ] = field(default_factory=list)
    extra_envs: _ExtraEnvs = field(default_factory=list)


class APIServer(ControlPlaneComponent):
    cert_sans: Annotated[
        list[_Name],
        rules(max_items=100),
    ] = field(default_factory=list, name="certSANs")
    timeout_for_control_plane: Annotated[
        str | None,
        rules(
            "timeoutForControlPlane is the time within which the API server must become "
            "healthy, as a duration, for example 4m0s. If it is not set, it defaults to "
            "4m0s.",
            form="duration",
        ),
    ] = None


class DNS(kubeadm.DNS):
    SCHEMA: ClassVar[Document] = {}


class ExternalEtcd(kubeadm.ExternalEtcd):
    ZEROS: ClassVar[bool] = True

    endpoints: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=512)]],
        rules(max_items=50),
    ]


class LocalEtcd(OldModel):
    image_repository: Annotated[str, rules(min_length=1, max_length=512)] = ""
    image_tag: Annotated[str, rules(min_length=1, max_length=256)] = ""
    data_dir: Annotated[
        str,
        rules(min_length=1, max_length=512),
    ] = ""
    extra_args: _ExtraArgs = field(default_factory=dict)
    extra_envs: _ExtraEnvs = field(default_factory=list)
    server_cert_sans: Annotated[list[_Name], rules(max_items=100)] = field(
        default_factory=list, name="serverCertSANs"
    )
    peer_cert_sans: Annotated[list[_Name], rules(max_items=100)] = field(
        default_factory=list, name="peerCertSANs"
    )


class Etcd(OldModel):
    local: LocalEtcd | None = None
    external: ExternalEtcd | None = None


class Networking(OldModel):
    """Networking configures the networks of the cluster. Cluster API takes absent values from
    the Cluster.
    """

    service_subnet: Annotated[
        str,
        rules(
            "serviceSubnet are the IP address ranges of Services in CIDR notation. Cluster "
            "API uses those of the Cluster instead.",
            min_length=1,
            max_length=1024,
        ),
    ] = ""
    pod_subnet: Annotated[
        str,
        rules(
            "podSubnet are the IP address ranges of Pods in CIDR notation. Cluster API uses "
            "those of the Cluster instead.",
            min_length=1,
            max_length=1024,
        ),
    ] = ""
    dns_domain: Annotated[
        str,
        rules(
            "dnsDomain is the DNS domain of Services. Cluster API uses that of the Cluster "
            "instead.",
            min_length=1,
            max_length=253,
        ),
    ] = ""


class ClusterConfiguration(OldModel):
    api_version: ApiVersion = ""
    kind: Kind = ""
    etcd: Etcd = field(default_factory=Etcd)
    networking: Annotated[
        Networking,
        rules(
            "networking configures the networks of the cluster. Cluster API uses "
            "spec.clusterNetwork of the Cluster instead."
        ),
    ] = field(default_factory=Networking)
    kubernetes_version: Annotated[
        str,
        rules(
            "kubernetesVersion is the Kubernetes version of the control plane. Cluster API "
            "uses the version of the Machine instead.",
            min_length=1,
            max_length=256,
        ),
    ] = ""
    control_plane_endpoint: Annotated[
        str,
        rules(
            min_length=1,
            max_length=512,
        ),
    ] = ""
    api_server: APIServer = field(default_factory=APIServer)
    controller_manager: ControlPlaneComponent = field(default_factory=ControlPlaneComponent)
    scheduler: ControlPlaneComponent = field(default_factory=ControlPlaneComponent)
    dns: DNS = field(default_factory=DNS)
    certificates_dir: Annotated[
        str,
        rules(
            min_length=1,
            max_length=512,
        ),
    ] = ""
    image_repository: Annotated[
        str,
        rules(
            min_length=1,
            max_length=512,
        ),
    ] = ""
    feature_gates: dict[str, bool] = field(default_factory=dict)
    certificate_validity_period_days: kubeadm.CertificateDays = 0
    ca_certificate_validity_period_days: kubeadm.AuthorityDays = 0
    encryption_algorithm: kubeadm.EncryptionAlgorithm = ""
    cluster_name: Annotated[
        str,
        rules(
            "clusterName is the name of the cluster. Cluster API uses the name of the "
            "Cluster instead.",
            min_length=1,
            max_length=63,
        ),
    ] = ""
