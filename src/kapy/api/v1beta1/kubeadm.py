"""kubeadm's ClusterConfiguration as v1beta1 had it: arguments were a map."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api import kubeadm
from kapy.api.core_v1 import EnvVar
from kapy.api.v1beta1.model import OldModel
from kapy.kube import Document
from kapy.kube.model import rules

_Name = Annotated[str, rules(min_length=1, max_length=253)]
_ExtraArgs = Annotated[
    dict[str, str], rules("Command line arguments beyond kubeadm's own, by their names.")
]
_ExtraEnvs = Annotated[list[EnvVar], rules("Environment variables for the Pod.", max_items=100)]

ApiVersion = Annotated[str, rules("The version of kubeadm's own API; not looked at.")]
Kind = Annotated[str, rules("What kubeadm's own API calls this; not looked at.")]


class HostPathMount(kubeadm.HostPathMount):
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
        rules("How long for the API server to be healthy; 4m unless said.", form="duration"),
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
    """The networks of a cluster; they come from the Cluster, not from here."""

    service_subnet: Annotated[
        str, rules("Addresses for Services.", min_length=1, max_length=1024)
    ] = ""
    pod_subnet: Annotated[str, rules("Addresses for Pods.", min_length=1, max_length=1024)] = ""
    dns_domain: Annotated[str, rules("The domain of Services.", min_length=1, max_length=253)] = ""


class ClusterConfiguration(OldModel):
    api_version: ApiVersion = ""
    kind: Kind = ""
    etcd: Etcd = field(default_factory=Etcd)
    networking: Annotated[
        Networking, rules("Networks; the Cluster's are used, whatever this says.")
    ] = field(default_factory=Networking)
    kubernetes_version: Annotated[
        str,
        rules(
            "A Kubernetes version; the Machine's is used, whatever this says.",
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
            "A cluster's name; the Cluster's is used, whatever this says.",
            min_length=1,
            max_length=63,
        ),
    ] = ""
