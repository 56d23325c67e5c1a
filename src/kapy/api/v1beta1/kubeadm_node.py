"""kubeadm's InitConfiguration and JoinConfiguration as v1beta1 had them."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api import kubeadm_node
from kapy.api.core_v1 import Taint
from kapy.api.v1beta1.kubeadm import ApiVersion, Kind
from kapy.api.v1beta1.model import OldModel
from kapy.kube import Document
from kapy.kube.model import rules

_Short = Annotated[str, rules(min_length=1, max_length=256)]
_Long = Annotated[str, rules(min_length=1, max_length=512)]
_SkipPhases = Annotated[list[_Short], rules("Phases of kubeadm to leave out.", max_items=50)]


class BootstrapToken(OldModel):
    """A token that machines join with."""

    token: Annotated[
        str | None,
        rules("The token, of the form id.secret.", required=True, zero="written", form="token"),
    ] = None
    description: Annotated[str, rules("What it is for.", min_length=1, max_length=512)] = ""
    ttl: Annotated[
        str | None,
        rules("How long it is valid, 24h unless said; not together with expires.", form="duration"),
    ] = None
    expires: Annotated[
        str | None, rules("Until when it is valid; not together with ttl.", format="date-time")
    ] = None
    usages: Annotated[list[_Short], rules("What it can be used for.", max_items=100)] = field(
        default_factory=list
    )
    groups: Annotated[list[_Short], rules("Groups that its bearer belongs to.", max_items=100)] = (
        field(default_factory=list)
    )


class LocalAPIEndpoint(kubeadm_node.LocalAPIEndpoint):
    """Where a machine's API server listens."""

    SCHEMA: ClassVar[Document] = {}

    bind_port: Annotated[int, rules("Its port; 6443 unless said.", format="int32")] = 0


class NodeRegistrationOptions(OldModel):
    """How a machine becomes a Node."""

    name: Annotated[
        str, rules("The Node's name; the host name unless said.", min_length=1, max_length=253)
    ] = ""
    cri_socket: Annotated[
        str, rules("Where the container runtime is reached.", min_length=1, max_length=512)
    ] = ""
    taints: Annotated[
        list[Taint] | None,
        rules("The Node's taints; absent means kubeadm's own, empty means none.", max_items=100),
    ] = None
    kubelet_extra_args: Annotated[
        dict[str, str], rules("Command line arguments for the kubelet, by their names.")
    ] = field(default_factory=dict)
    ignore_preflight_errors: Annotated[
        list[_Long], rules("Checks of kubeadm whose failure does not matter.", max_items=50)
    ] = field(default_factory=list)
    image_pull_policy: Annotated[
        str, rules("When kubeadm pulls images.", enum=["Always", "IfNotPresent", "Never"])
    ] = ""
    image_pull_serial: Annotated[
        bool | None, rules("Whether images are pulled one after the other.")
    ] = None


class Patches(kubeadm_node.Patches):
    """Patches for what kubeadm deploys."""

    SCHEMA: ClassVar[Document] = {}


class InitConfiguration(OldModel):
    """What kubeadm init needs to know."""

    api_version: ApiVersion = ""
    kind: Kind = ""
    bootstrap_tokens: Annotated[
        list[BootstrapToken],
        rules("Tokens to make, that other machines join with.", max_items=100),
    ] = field(default_factory=list)
    node_registration: Annotated[
        NodeRegistrationOptions, rules("How the machine becomes a Node.")
    ] = field(default_factory=NodeRegistrationOptions)
    local_api_endpoint: Annotated[
        LocalAPIEndpoint, rules("Where this machine's API server listens.")
    ] = field(default_factory=LocalAPIEndpoint, name="localAPIEndpoint")
    skip_phases: _SkipPhases = field(default_factory=list)
    patches: Annotated[Patches | None, rules("Patches for what kubeadm deploys.")] = None


class BootstrapTokenDiscovery(kubeadm_node.BootstrapTokenDiscovery):
    """How a machine finds the API server with a token."""

    SCHEMA: ClassVar[Document] = {}

    ca_cert_hashes: Annotated[
        list[_Long],
        rules("Hashes of the public keys of the authorities that are trusted.", max_items=100),
    ] = field(default_factory=list)
    unsafe_skip_ca_verification: Annotated[bool, rules("Whether to trust any authority.")] = field(
        default=False, name="unsafeSkipCAVerification"
    )


class KubeConfigCluster(kubeadm_node.KubeConfigCluster):
    """The cluster's side of a kubeconfig."""

    SCHEMA: ClassVar[Document] = {}

    insecure_skip_tls_verify: Annotated[bool, rules("Whether to accept any certificate.")] = field(
        default=False, name="insecureSkipTLSVerify"
    )


class KubeConfigAuthExecEnv(kubeadm_node.KubeConfigAuthExecEnv):
    """One environment variable of a command."""

    ZEROS: ClassVar[bool] = True


class KubeConfigAuthExec(OldModel):
    """A command that authenticates."""

    command: Annotated[str, rules("The command.", min_length=1, max_length=1024)]
    args: Annotated[list[_Long], rules("Its arguments.", max_items=100)] = field(
        default_factory=list
    )
    env: Annotated[
        list[KubeConfigAuthExecEnv], rules("Environment variables for it.", max_items=100)
    ] = field(default_factory=list)
    api_version: Annotated[
        str, rules("The version of what it reads and writes.", min_length=1, max_length=512)
    ] = ""
    provide_cluster_info: Annotated[bool, rules("Whether it is told about the cluster.")] = False


class KubeConfigAuthProvider(kubeadm_node.KubeConfigAuthProvider):
    """A plug-in inside the client that authenticates."""

    ZEROS: ClassVar[bool] = True


class KubeConfigUser(OldModel):
    """The user's side of a kubeconfig."""

    auth_provider: Annotated[
        KubeConfigAuthProvider | None, rules("A plug-in inside the client that authenticates.")
    ] = None
    exec: Annotated[KubeConfigAuthExec | None, rules("A command that authenticates.")] = None


class FileDiscoveryKubeConfig(OldModel, kw_only=True):
    """What goes into a kubeconfig file for discovery."""

    cluster: Annotated[KubeConfigCluster | None, rules("The cluster's side.")] = None
    user: Annotated[KubeConfigUser, rules("The user's side.")]


class FileDiscovery(OldModel):
    """How a machine finds the API server with a kubeconfig file."""

    kube_config_path: Annotated[str, rules("The file's path or URL.", min_length=1, max_length=512)]
    kube_config: Annotated[
        FileDiscoveryKubeConfig | None, rules("What to write into the file.")
    ] = None


class Discovery(OldModel):
    """How a machine finds and trusts the API server."""

    bootstrap_token: Annotated[
        BootstrapTokenDiscovery | None, rules("With a token; not together with file.")
    ] = None
    file: Annotated[
        FileDiscovery | None, rules("With a kubeconfig file; not together with bootstrapToken.")
    ] = None
    tls_bootstrap_token: Annotated[
        str, rules("The token to ask for a certificate with.", min_length=1, max_length=512)
    ] = ""
    timeout: Annotated[
        str | None,
        rules("How long to find out who the API server is; 5m unless said.", form="duration"),
    ] = None


class JoinControlPlane(OldModel):
    """What a further machine of the control plane needs."""

    local_api_endpoint: Annotated[
        LocalAPIEndpoint, rules("Where this machine's API server listens.")
    ] = field(default_factory=LocalAPIEndpoint, name="localAPIEndpoint")


class JoinConfiguration(OldModel):
    """What kubeadm join needs to know."""

    api_version: ApiVersion = ""
    kind: Kind = ""
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
    patches: Annotated[Patches | None, rules("Patches for what kubeadm deploys.")] = None
