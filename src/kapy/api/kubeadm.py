"""kubeadm's ClusterConfiguration: what all machines of a control plane have in common."""

from typing import Annotated, ClassVar

import msgspec
from msgspec import field

from kapy.api.core_v1 import EnvVar
from kapy.kube import Document
from kapy.kube.model import Model, rules


class Arg(Model):
    """One command line argument."""

    name: Annotated[str, rules("Its name without dashes.", min_length=1, max_length=256)]
    value: Annotated[str, rules("Its value.", min_length=0, max_length=1024, zero="kept")]


class HostPathMount(Model):
    """A file or folder of the machine that is mounted into a Pod."""

    name: Annotated[str, rules("The volume's name in the Pod.", min_length=1, max_length=512)]
    host_path: Annotated[str, rules("Its path on the machine.", min_length=1, max_length=512)]
    mount_path: Annotated[str, rules("Its path in the Pod.", min_length=1, max_length=512)]
    read_only: Annotated[bool | None, rules("Whether the Pod may only read it.")] = None
    path_type: Annotated[str, rules("What must be, or is made, at the path on the machine.")] = ""


def arguments(description: str, field_name: str) -> msgspec.Meta:
    """The rules of a list of arguments, each of which may be given once."""
    return rules(
        description,
        min_items=1,
        max_items=100,
        x_kubernetes_list_type="map",
        x_kubernetes_list_map_keys=["name", "value"],
        x_kubernetes_validations=[
            {
                "message": f"{field_name} name must be unique",
                "rule": "self.all(x, self.exists_one(y, x.name == y.name))",
            }
        ],
    )


ExtraArgs = Annotated[
    list[Arg], arguments("Command line arguments beyond kubeadm's own.", "extraArgs")
]
ExtraEnvs = Annotated[
    list[EnvVar] | None,
    rules(
        "Environment variables for the Pod.",
        min_items=1,
        max_items=100,
        x_kubernetes_list_type="atomic",
    ),
]
_Name = Annotated[str, rules(min_length=1, max_length=253)]


def _names(description: str) -> msgspec.Meta:
    """The rules of a list of names and addresses for a certificate."""
    return rules(description, min_items=1, max_items=100, x_kubernetes_list_type="atomic")


class ControlPlaneComponent(Model):
    """Additions to a component of the control plane."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    extra_args: ExtraArgs = field(default_factory=list)
    extra_volumes: Annotated[
        list[HostPathMount],
        rules(
            "Files and folders of the machine to mount into the Pod.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    extra_envs: ExtraEnvs = None


class APIServer(ControlPlaneComponent):
    """Additions to the API server."""

    cert_sans: Annotated[
        list[_Name], _names("More names and addresses for the API server's certificate.")
    ] = field(default_factory=list, name="certSANs")


class DNS(Model):
    """Which CoreDNS to install."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    image_repository: Annotated[
        str, rules("The registry to pull CoreDNS from.", min_length=1, max_length=512)
    ] = ""
    image_tag: Annotated[
        str, rules("The tag of the CoreDNS image.", min_length=1, max_length=256)
    ] = ""


class ExternalEtcd(Model):
    """An etcd that is there already."""

    endpoints: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=512)]],
        rules(
            "Where its members are reached.",
            min_items=1,
            max_items=50,
            x_kubernetes_list_type="atomic",
        ),
    ]
    ca_file: Annotated[
        str,
        rules(
            "The file of the certificate authority of its members.", min_length=1, max_length=512
        ),
    ]
    cert_file: Annotated[
        str, rules("The file of the client certificate for it.", min_length=1, max_length=512)
    ]
    key_file: Annotated[
        str,
        rules(
            "The file of the key of the client certificate for it.", min_length=1, max_length=512
        ),
    ]


class LocalEtcd(Model):
    """An etcd that kubeadm runs on each control plane machine."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    image_repository: Annotated[
        str, rules("The registry to pull etcd from.", min_length=1, max_length=512)
    ] = ""
    image_tag: Annotated[str, rules("The tag of the etcd image.", min_length=1, max_length=256)] = (
        ""
    )
    data_dir: Annotated[
        str,
        rules("The folder for its data; /var/lib/etcd unless said.", min_length=1, max_length=512),
    ] = ""
    extra_args: ExtraArgs = field(default_factory=list)
    extra_envs: ExtraEnvs = None
    server_cert_sans: Annotated[
        list[_Name], _names("More names and addresses for its server certificate.")
    ] = field(default_factory=list, name="serverCertSANs")
    peer_cert_sans: Annotated[
        list[_Name], _names("More names and addresses for its peer certificate.")
    ] = field(default_factory=list, name="peerCertSANs")


class Etcd(Model):
    """Which etcd to use; one of these."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    local: Annotated[
        LocalEtcd, rules("An etcd that kubeadm runs on each control plane machine.")
    ] = field(default_factory=LocalEtcd)
    external: Annotated[
        ExternalEtcd | None, rules("An etcd that is there already.", zero="omitted")
    ] = None


CertificateDays = Annotated[
    int,
    rules(
        "For how many days certificates are valid; 365 unless said.",
        format="int32",
        minimum=1,
        maximum=1095,
    ),
]
AuthorityDays = Annotated[
    int,
    rules(
        "For how many days certificate authorities are valid; 3650 unless said.",
        format="int32",
        minimum=1,
        maximum=36500,
    ),
]
EncryptionAlgorithm = Annotated[
    str,
    rules(
        "The algorithm of keys and certificates; RSA-2048 unless said.",
        enum=["ECDSA-P256", "ECDSA-P384", "RSA-2048", "RSA-3072", "RSA-4096"],
    ),
]


class ClusterConfiguration(Model):
    """What kubeadm needs to know about a cluster."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    etcd: Annotated[
        Etcd, rules("Whether kubeadm runs etcd or uses one that is there; it runs one unless said.")
    ] = field(default_factory=Etcd)
    control_plane_endpoint: Annotated[
        str,
        rules(
            "Where the control plane is reached; the Cluster's endpoint unless said.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    api_server: Annotated[APIServer, rules("Additions to the API server.")] = field(
        default_factory=APIServer
    )
    controller_manager: Annotated[
        ControlPlaneComponent, rules("Additions to the controller manager.")
    ] = field(default_factory=ControlPlaneComponent)
    scheduler: Annotated[ControlPlaneComponent, rules("Additions to the scheduler.")] = field(
        default_factory=ControlPlaneComponent
    )
    dns: Annotated[DNS, rules("Which CoreDNS to install.")] = field(default_factory=DNS)
    certificates_dir: Annotated[
        str,
        rules(
            "The folder for certificates; /etc/kubernetes/pki unless said.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    image_repository: Annotated[
        str,
        rules(
            "The registry to pull images from; registry.k8s.io unless said.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    feature_gates: Annotated[dict[str, bool], rules("Feature gates of kubeadm.")] = field(
        default_factory=dict
    )
    certificate_validity_period_days: CertificateDays = 0
    ca_certificate_validity_period_days: AuthorityDays = 0
    encryption_algorithm: EncryptionAlgorithm = ""
