"""kubeadm's InitConfiguration and JoinConfiguration as v1beta1 had them."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api import kubeadm_discovery, kubeadm_node
from kapy.api.core_v1 import Taint
from kapy.api.v1beta1.kubeadm import ApiVersion, Kind
from kapy.api.v1beta1.model import OldModel
from kapy.kube import Document
from kapy.kube.model import rules

_Short = Annotated[str, rules(min_length=1, max_length=256)]
_Long = Annotated[str, rules(min_length=1, max_length=512)]
_SkipPhases = Annotated[list[_Short], rules(max_items=50)]


class BootstrapToken(OldModel):
    token: Annotated[
        str | None,
        rules(required=True, zero="written", form="token"),
    ] = None
    description: Annotated[str, rules(min_length=1, max_length=512)] = ""
    ttl: Annotated[
        str | None,
        rules(
            "ttl is the lifetime of the token as a duration, for example 24h0m0s. With 0s it "
            "does not expire. It must not be set together with expires. If neither is set, "
            "it defaults to 24h0m0s.",
            form="duration",
        ),
    ] = None
    expires: Annotated[str | None, rules(format="date-time")] = None
    usages: Annotated[list[_Short], rules(max_items=100)] = field(default_factory=list)
    groups: Annotated[list[_Short], rules(max_items=100)] = field(default_factory=list)


class LocalAPIEndpoint(kubeadm_node.LocalAPIEndpoint):
    SCHEMA: ClassVar[Document] = {}

    bind_port: Annotated[int, rules(format="int32")] = 0


class NodeRegistrationOptions(OldModel):
    name: Annotated[str, rules(min_length=1, max_length=253)] = ""
    cri_socket: Annotated[str, rules(min_length=1, max_length=512)] = ""
    taints: Annotated[
        list[Taint] | None,
        rules(max_items=100),
    ] = None
    kubelet_extra_args: dict[str, str] = field(default_factory=dict)
    ignore_preflight_errors: Annotated[list[_Long], rules(max_items=50)] = field(
        default_factory=list
    )
    image_pull_policy: Annotated[str, rules(enum=["Always", "IfNotPresent", "Never"])] = ""
    image_pull_serial: bool | None = None


class Patches(kubeadm_node.Patches):
    SCHEMA: ClassVar[Document] = {}


class InitConfiguration(OldModel):
    api_version: ApiVersion = ""
    kind: Kind = ""
    bootstrap_tokens: Annotated[
        list[BootstrapToken],
        rules(max_items=100),
    ] = field(default_factory=list)
    node_registration: NodeRegistrationOptions = field(default_factory=NodeRegistrationOptions)
    local_api_endpoint: LocalAPIEndpoint = field(
        default_factory=LocalAPIEndpoint, name="localAPIEndpoint"
    )
    skip_phases: _SkipPhases = field(default_factory=list)
    patches: Patches | None = None


class BootstrapTokenDiscovery(kubeadm_discovery.BootstrapTokenDiscovery):
    SCHEMA: ClassVar[Document] = {}

    ca_cert_hashes: Annotated[
        list[_Long],
        rules(max_items=100),
    ] = field(default_factory=list)
    unsafe_skip_ca_verification: bool = field(default=False, name="unsafeSkipCAVerification")


class KubeConfigCluster(kubeadm_discovery.KubeConfigCluster):
    SCHEMA: ClassVar[Document] = {}

    insecure_skip_tls_verify: bool = field(default=False, name="insecureSkipTLSVerify")


class KubeConfigAuthExecEnv(kubeadm_discovery.KubeConfigAuthExecEnv):
    ZEROS: ClassVar[bool] = True


class KubeConfigAuthExec(OldModel):
    command: Annotated[str, rules(min_length=1, max_length=1024)]
    args: Annotated[list[_Long], rules(max_items=100)] = field(default_factory=list)
    env: Annotated[list[KubeConfigAuthExecEnv], rules(max_items=100)] = field(default_factory=list)
    api_version: Annotated[str, rules(min_length=1, max_length=512)] = ""
    provide_cluster_info: bool = False


class KubeConfigAuthProvider(kubeadm_discovery.KubeConfigAuthProvider):
    ZEROS: ClassVar[bool] = True


class KubeConfigUser(OldModel):
    auth_provider: KubeConfigAuthProvider | None = None
    exec: KubeConfigAuthExec | None = None


class FileDiscoveryKubeConfig(OldModel, kw_only=True):
    cluster: KubeConfigCluster | None = None
    user: KubeConfigUser


class FileDiscovery(OldModel):
    kube_config_path: Annotated[str, rules(min_length=1, max_length=512)]
    kube_config: FileDiscoveryKubeConfig | None = None


class Discovery(OldModel):
    bootstrap_token: BootstrapTokenDiscovery | None = None
    file: FileDiscovery | None = None
    tls_bootstrap_token: Annotated[str, rules(min_length=1, max_length=512)] = ""
    timeout: Annotated[
        str | None,
        rules(
            "timeout is the time within which a joining machine must validate the identity "
            "of the API server, as a duration, for example 5m0s. If it is not set, it "
            "defaults to 5m0s.",
            form="duration",
        ),
    ] = None


class JoinControlPlane(OldModel):
    local_api_endpoint: LocalAPIEndpoint = field(
        default_factory=LocalAPIEndpoint, name="localAPIEndpoint"
    )


class JoinConfiguration(OldModel):
    api_version: ApiVersion = ""
    kind: Kind = ""
    node_registration: NodeRegistrationOptions = field(default_factory=NodeRegistrationOptions)
    ca_cert_path: Annotated[str, rules(min_length=1, max_length=512)] = ""
    discovery: Discovery = field(default_factory=Discovery)
    control_plane: JoinControlPlane | None = None
    skip_phases: _SkipPhases = field(default_factory=list)
    patches: Patches | None = None
