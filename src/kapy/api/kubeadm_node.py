"""kubeadm's InitConfiguration and JoinConfiguration: how one machine becomes a Node."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.core_v1 import Taint
from kapy.api.kubeadm import Arg, arguments
from kapy.kube import Document
from kapy.kube.model import Model, rules


class BootstrapToken(Model):
    """A token that machines join with."""

    token: Annotated[
        str, rules("The token, of the form id.secret.", min_length=1, max_length=23, form="token")
    ]
    description: Annotated[str, rules("What it is for.", min_length=1, max_length=512)] = ""
    ttl_seconds: Annotated[
        int | None,
        rules("How long it is valid; not together with expires.", format="int32", minimum=0),
    ] = None
    expires: Annotated[
        str | None,
        rules("Until when it is valid; not together with ttlSeconds.", format="date-time"),
    ] = None
    usages: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(
            "What it can be used for.", min_items=1, max_items=100, x_kubernetes_list_type="atomic"
        ),
    ] = field(default_factory=list)
    groups: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(
            "Groups that its bearer belongs to.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


class LocalAPIEndpoint(Model):
    """Where a machine's API server listens."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    advertise_address: Annotated[
        str, rules("The address that it tells others.", min_length=1, max_length=39)
    ] = ""
    bind_port: Annotated[int, rules("Its port; 6443 unless said.", format="int32", minimum=1)] = 0


class NodeRegistrationOptions(Model):
    """How a machine becomes a Node."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    name: Annotated[
        str, rules("The Node's name; the host name unless said.", min_length=1, max_length=253)
    ] = ""
    cri_socket: Annotated[
        str, rules("Where the container runtime is reached.", min_length=1, max_length=512)
    ] = ""
    taints: Annotated[
        list[Taint] | None,
        rules(
            "The Node's taints; absent means kubeadm's own, empty means none.",
            min_items=0,
            max_items=100,
        ),
    ] = None
    kubelet_extra_args: Annotated[
        list[Arg], arguments("Command line arguments for the kubelet.", "kubeletExtraArgs")
    ] = field(default_factory=list)
    ignore_preflight_errors: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=512)]],
        rules(
            "Checks of kubeadm whose failure does not matter.",
            min_items=1,
            max_items=50,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    image_pull_policy: Annotated[
        str, rules("When kubeadm pulls images.", enum=["Always", "IfNotPresent", "Never"])
    ] = ""
    image_pull_serial: Annotated[
        bool | None, rules("Whether images are pulled one after the other.")
    ] = None


class Patches(Model):
    """Patches for what kubeadm deploys."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    directory: Annotated[
        str, rules("The folder of the machine that holds them.", min_length=1, max_length=512)
    ] = ""


class Timeouts(Model):
    """How long kubeadm waits."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    control_plane_component_health_check_seconds: Annotated[
        int | None,
        rules(
            "How long for a control plane component to be healthy; 240 unless said.",
            format="int32",
            minimum=0,
        ),
    ] = None
    kubelet_health_check_seconds: Annotated[
        int | None,
        rules(
            "How long for the kubelet to be healthy; 240 unless said.", format="int32", minimum=0
        ),
    ] = None
    kubernetes_api_call_seconds: Annotated[
        int | None,
        rules(
            "How long for an answer of the API server; 60 unless said.", format="int32", minimum=0
        ),
    ] = field(default=None, name="kubernetesAPICallSeconds")
    etcd_api_call_seconds: Annotated[
        int | None,
        rules("How long for an answer of etcd; 120 unless said.", format="int32", minimum=0),
    ] = field(default=None, name="etcdAPICallSeconds")
    tls_bootstrap_seconds: Annotated[
        int | None,
        rules(
            "How long for the kubelet to get its certificate; 300 unless said.",
            format="int32",
            minimum=0,
        ),
    ] = None
    discovery_seconds: Annotated[
        int | None,
        rules(
            "How long to find out who the API server is; 300 unless said.",
            format="int32",
            minimum=0,
        ),
    ] = None


_SkipPhases = Annotated[
    list[Annotated[str, rules(min_length=1, max_length=256)]],
    rules(
        "Phases of kubeadm to leave out.",
        min_items=1,
        max_items=50,
        x_kubernetes_list_type="atomic",
    ),
]


class InitConfiguration(Model):
    """What kubeadm init needs to know."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    bootstrap_tokens: Annotated[
        list[BootstrapToken],
        rules(
            "Tokens to make, that other machines join with.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    node_registration: Annotated[
        NodeRegistrationOptions, rules("How the machine becomes a Node.")
    ] = field(default_factory=NodeRegistrationOptions)
    local_api_endpoint: Annotated[
        LocalAPIEndpoint, rules("Where this machine's API server listens.")
    ] = field(default_factory=LocalAPIEndpoint, name="localAPIEndpoint")
    skip_phases: _SkipPhases = field(default_factory=list)
    patches: Annotated[Patches, rules("Patches for what kubeadm deploys.")] = field(
        default_factory=Patches
    )
    timeouts: Annotated[Timeouts, rules("How long kubeadm waits.")] = field(
        default_factory=Timeouts
    )


class BootstrapTokenDiscovery(Model):
    """How a machine finds the API server with a token."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    token: Annotated[
        str,
        rules(
            "The token to check what the cluster says about itself with.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    api_server_endpoint: Annotated[
        str, rules("Where the API server is reached.", min_length=1, max_length=512)
    ] = ""
    ca_cert_hashes: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=512)]],
        rules(
            "Hashes of the public keys of the authorities that are trusted.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    unsafe_skip_ca_verification: Annotated[
        bool | None, rules("Whether to trust any authority.")
    ] = field(default=None, name="unsafeSkipCAVerification")


class KubeConfigCluster(Model):
    """The cluster's side of a kubeconfig."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    server: Annotated[
        str,
        rules(
            "Where the API server is reached; the Cluster's endpoint unless said.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    tls_server_name: Annotated[
        str,
        rules("The name that the server's certificate must have.", min_length=1, max_length=512),
    ] = ""
    insecure_skip_tls_verify: Annotated[
        bool | None, rules("Whether to accept any certificate.")
    ] = field(default=None, name="insecureSkipTLSVerify")
    certificate_authority_data: Annotated[
        str,
        rules(
            "The authority that is trusted; the Cluster's own unless said.",
            format="byte",
            min_length=1,
            max_length=51200,
        ),
    ] = ""
    proxy_url: Annotated[str, rules("The proxy to go through.", min_length=1, max_length=512)] = (
        field(default="", name="proxyURL")
    )


class KubeConfigAuthExecEnv(Model):
    """One environment variable of a command."""

    name: Annotated[str, rules("Its name.", min_length=1, max_length=512)]
    value: Annotated[str, rules("Its value.", min_length=1, max_length=512)]


class KubeConfigAuthExec(Model):
    """A command that authenticates."""

    command: Annotated[str, rules("The command.", min_length=1, max_length=1024)]
    args: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=512)]],
        rules("Its arguments.", min_items=1, max_items=100, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)
    env: Annotated[
        list[KubeConfigAuthExecEnv],
        rules(
            "Environment variables for it.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    api_version: Annotated[
        str, rules("The version of what it reads and writes.", min_length=1, max_length=512)
    ] = ""
    provide_cluster_info: Annotated[bool | None, rules("Whether it is told about the cluster.")] = (
        None
    )


class KubeConfigAuthProvider(Model):
    """A plug-in inside the client that authenticates."""

    name: Annotated[str, rules("The plug-in's name.", min_length=1, max_length=256)]
    config: Annotated[dict[str, str], rules("Its settings.")] = field(default_factory=dict)


class KubeConfigUser(Model):
    """The user's side of a kubeconfig."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    auth_provider: Annotated[
        KubeConfigAuthProvider | None,
        rules("A plug-in inside the client that authenticates.", zero="omitted"),
    ] = None
    exec: Annotated[
        KubeConfigAuthExec | None, rules("A command that authenticates.", zero="omitted")
    ] = None


class FileDiscoveryKubeConfig(Model, kw_only=True):
    """What goes into a kubeconfig file for discovery."""

    cluster: Annotated[KubeConfigCluster, rules("The cluster's side.")] = field(
        default_factory=KubeConfigCluster
    )
    user: Annotated[KubeConfigUser, rules("The user's side.")]


class FileDiscovery(Model):
    """How a machine finds the API server with a kubeconfig file."""

    kube_config_path: Annotated[str, rules("The file's path or URL.", min_length=1, max_length=512)]
    kube_config: Annotated[
        FileDiscoveryKubeConfig | None, rules("What to write into the file.", zero="omitted")
    ] = None


class Discovery(Model):
    """How a machine finds and trusts the API server."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    bootstrap_token: Annotated[
        BootstrapTokenDiscovery, rules("With a token; not together with file.")
    ] = field(default_factory=BootstrapTokenDiscovery)
    file: Annotated[
        FileDiscovery | None,
        rules("With a kubeconfig file; not together with bootstrapToken.", zero="omitted"),
    ] = None
    tls_bootstrap_token: Annotated[
        str, rules("The token to ask for a certificate with.", min_length=1, max_length=512)
    ] = ""


class JoinControlPlane(Model):
    """What a further machine of the control plane needs."""

    local_api_endpoint: Annotated[
        LocalAPIEndpoint, rules("Where this machine's API server listens.")
    ] = field(default_factory=LocalAPIEndpoint, name="localAPIEndpoint")


class JoinConfiguration(Model):
    """What kubeadm join needs to know."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    node_registration: Annotated[
        NodeRegistrationOptions, rules("How the machine becomes a Node.")
    ] = field(default_factory=NodeRegistrationOptions)
    ca_cert_path: Annotated[
        str, rules("The file of the cluster's certificate authority.", min_length=1, max_length=512)
    ] = ""
    discovery: Annotated[Discovery, rules("How the machine finds and trusts the API server.")] = (
        field(default_factory=Discovery)
    )
    control_plane: Annotated[
        JoinControlPlane | None, rules("What a machine of the control plane needs besides.")
    ] = None
    skip_phases: _SkipPhases = field(default_factory=list)
    patches: Annotated[Patches, rules("Patches for what kubeadm deploys.")] = field(
        default_factory=Patches
    )
    timeouts: Annotated[Timeouts, rules("How long kubeadm waits.")] = field(
        default_factory=Timeouts
    )
