"""kubeadm's ClusterConfiguration: the settings shared by all machines of a control plane."""

from typing import Annotated, ClassVar

import msgspec
from msgspec import field

from kapy.api.kubeadm_components import ControlPlaneComponent, ExtraArgs, ExtraEnvs
from kapy.kube import Document
from kapy.kube.model import Model, rules

_Name = Annotated[str, rules(min_length=1, max_length=253)]


def _names(description: str) -> msgspec.Meta:
    """Return the rules of a list of names and addresses for a certificate."""
    return rules(description, min_items=1, max_items=100, x_kubernetes_list_type="atomic")


class APIServer(ControlPlaneComponent):
    """APIServer configures the API server of the control plane."""

    cert_sans: Annotated[
        list[_Name],
        _names(
            "certSANs are additional DNS names and IP addresses in the serving certificate "
            "of the API server. At most 100 are allowed."
        ),
    ] = field(default_factory=list, name="certSANs")


class DNS(Model):
    """DNS selects the image of CoreDNS."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    image_repository: Annotated[
        str,
        rules(
            "imageRepository is the container registry of the CoreDNS image. If it is not "
            "set, it defaults to imageRepository of clusterConfiguration. A "
            "KubeadmControlPlane updates CoreDNS in place.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    image_tag: Annotated[
        str,
        rules(
            "imageTag is the tag of the CoreDNS image. If it is not set, kubeadm selects it "
            "according to the Kubernetes version. A KubeadmControlPlane updates CoreDNS in "
            "place and rejects tags for which no migration exists.",
            min_length=1,
            max_length=256,
        ),
    ] = ""


class ExternalEtcd(Model):
    """ExternalEtcd describes an etcd cluster that exists outside of the control plane machines."""

    endpoints: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=512)]],
        rules(
            "endpoints are the URLs of the client ports of the etcd members, for example "
            "https://10.0.0.10:2379. At most 50 are allowed.",
            min_items=1,
            max_items=50,
            x_kubernetes_list_type="atomic",
        ),
    ]
    ca_file: Annotated[
        str,
        rules(
            "caFile is the path of the file on the machine with the certificate authority of "
            "the etcd members.",
            min_length=1,
            max_length=512,
        ),
    ]
    cert_file: Annotated[
        str,
        rules(
            "certFile is the path of the file on the machine with the client certificate for etcd.",
            min_length=1,
            max_length=512,
        ),
    ]
    key_file: Annotated[
        str,
        rules(
            "keyFile is the path of the file on the machine with the private key of the "
            "client certificate for etcd.",
            min_length=1,
            max_length=512,
        ),
    ]


class LocalEtcd(Model):
    """LocalEtcd configures the etcd member that runs as a static Pod on each control plane
    machine.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    image_repository: Annotated[
        str,
        rules(
            "imageRepository is the container registry of the etcd image. If it is not set, "
            "it defaults to imageRepository of clusterConfiguration.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    image_tag: Annotated[
        str,
        rules(
            "imageTag is the tag of the etcd image. If it is not set, kubeadm selects it "
            "according to the Kubernetes version.",
            min_length=1,
            max_length=256,
        ),
    ] = ""
    data_dir: Annotated[
        str,
        rules(
            "dataDir is the directory of etcd's data on the machine. Defaults to "
            "/var/lib/etcd, which kubeadm sets.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    extra_args: ExtraArgs = field(default_factory=list)
    extra_envs: ExtraEnvs = None
    server_cert_sans: Annotated[
        list[_Name],
        _names(
            "serverCertSANs are additional DNS names and IP addresses in the serving "
            "certificate of etcd. At most 100 are allowed."
        ),
    ] = field(default_factory=list, name="serverCertSANs")
    peer_cert_sans: Annotated[
        list[_Name],
        _names(
            "peerCertSANs are additional DNS names and IP addresses in the peer certificate "
            "of etcd. At most 100 are allowed."
        ),
    ] = field(default_factory=list, name="peerCertSANs")


class Etcd(Model):
    """Etcd selects a local or an external etcd. local and external must not be set together.
    In a KubeadmControlPlane a change between them is not allowed.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    local: Annotated[
        LocalEtcd,
        rules("local configures etcd members on the control plane machines. This is the default."),
    ] = field(default_factory=LocalEtcd)
    external: Annotated[
        ExternalEtcd | None,
        rules(
            "external describes an etcd cluster that exists elsewhere. The number of control "
            "plane replicas may be even then.",
            zero="omitted",
        ),
    ] = None


CertificateDays = Annotated[
    int,
    rules(
        "certificateValidityPeriodDays is the validity of generated certificates in "
        "days, except for authorities. Allowed values are 1 to 1095. It must not exceed "
        "caCertificateValidityPeriodDays. If it is not set, it defaults to 365, which "
        "kubeadm sets.",
        format="int32",
        minimum=1,
        maximum=1095,
    ),
]
AuthorityDays = Annotated[
    int,
    rules(
        "caCertificateValidityPeriodDays is the validity of generated certificate "
        "authorities in days. Allowed values are 1 to 36500. Defaults to 3650. In a "
        "KubeadmControlPlane this field is immutable.",
        format="int32",
        minimum=1,
        maximum=36500,
    ),
]
EncryptionAlgorithm = Annotated[
    str,
    rules(
        "encryptionAlgorithm is the algorithm of generated keys and certificates. "
        "Allowed values are ECDSA-P256, ECDSA-P384, RSA-2048, RSA-3072 and RSA-4096. "
        "Defaults to RSA-2048, which kubeadm sets. It requires Kubernetes v1.31 or "
        "newer.",
        enum=["ECDSA-P256", "ECDSA-P384", "RSA-2048", "RSA-3072", "RSA-4096"],
    ),
]


class ClusterConfiguration(Model):
    """ClusterConfiguration is the configuration of kubeadm that is common to all machines of a
    cluster.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    etcd: Annotated[
        Etcd,
        rules(
            "etcd selects a local or an external etcd. Defaults to a local one. In a "
            "KubeadmControlPlane a change between both is not allowed."
        ),
    ] = field(default_factory=Etcd)
    control_plane_endpoint: Annotated[
        str,
        rules(
            "controlPlaneEndpoint is the stable address of the control plane, as host name "
            "or IP address with an optional port. If it is not set, it defaults to "
            "controlPlaneEndpoint of the Cluster. In a KubeadmControlPlane this field is "
            "immutable.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    api_server: Annotated[
        APIServer,
        rules(
            "apiServer configures the API servers. In a KubeadmControlPlane a change rolls "
            "out new machines."
        ),
    ] = field(default_factory=APIServer)
    controller_manager: Annotated[
        ControlPlaneComponent,
        rules(
            "controllerManager configures the controller managers. In a KubeadmControlPlane "
            "a change rolls out new machines."
        ),
    ] = field(default_factory=ControlPlaneComponent)
    scheduler: Annotated[
        ControlPlaneComponent,
        rules(
            "scheduler configures the schedulers. In a KubeadmControlPlane a change rolls "
            "out new machines."
        ),
    ] = field(default_factory=ControlPlaneComponent)
    dns: Annotated[
        DNS,
        rules("dns selects the image of CoreDNS. A KubeadmControlPlane applies a change in place."),
    ] = field(default_factory=DNS)
    certificates_dir: Annotated[
        str,
        rules(
            "certificatesDir is the directory of certificates on the machines. If it is not "
            "set, it defaults to /etc/kubernetes/pki. In a KubeadmControlPlane this field is "
            "immutable.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    image_repository: Annotated[
        str,
        rules(
            "imageRepository is the container registry of the images of the control plane. "
            "If it is not set, kubeadm uses registry.k8s.io.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    feature_gates: Annotated[
        dict[str, bool],
        rules(
            "featureGates enable and disable features of kubeadm by name. They do not affect "
            "the components of Kubernetes. In a KubeadmControlPlane a change rolls out new "
            "machines."
        ),
    ] = field(default_factory=dict)
    certificate_validity_period_days: CertificateDays = 0
    ca_certificate_validity_period_days: AuthorityDays = 0
    encryption_algorithm: EncryptionAlgorithm = ""
