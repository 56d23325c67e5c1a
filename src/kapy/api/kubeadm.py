"""kubeadm's own configuration (ClusterConfiguration, InitConfiguration, JoinConfiguration),
as it stands inside a KubeadmConfig."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.core_v1 import EnvVar, Taint
from kapy.kube import Document
from kapy.kube.model import Model, rules


class Arg(Model):
    name: Annotated[str, rules(min_length=1, max_length=256)]
    value: Annotated[str, rules(min_length=0, max_length=1024)]


class HostPathMount(Model):
    name: Annotated[str, rules(min_length=1, max_length=512)]
    host_path: Annotated[str, rules(min_length=1, max_length=512)]
    mount_path: Annotated[str, rules(min_length=1, max_length=512)]
    read_only: bool | None = None
    path_type: str = ""


class APIServer(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    extra_args: Annotated[
        list[Arg],
        rules(
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name", "value"],
            x_kubernetes_validations=[
                {
                    "message": "extraArgs name must be unique",
                    "rule": "self.all(x, self.exists_one(y, x.name == y.name))",
                }
            ],
        ),
    ] = field(default_factory=list)
    extra_volumes: Annotated[
        list[HostPathMount], rules(min_items=1, max_items=100, x_kubernetes_list_type="atomic")
    ] = field(default_factory=list)
    extra_envs: Annotated[
        list[EnvVar] | None, rules(min_items=1, max_items=100, x_kubernetes_list_type="atomic")
    ] = None
    cert_sans: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=253)]],
        rules(min_items=1, max_items=100, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list, name="certSANs")


class ControllerManager(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    extra_args: Annotated[
        list[Arg],
        rules(
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name", "value"],
            x_kubernetes_validations=[
                {
                    "message": "extraArgs name must be unique",
                    "rule": "self.all(x, self.exists_one(y, x.name == y.name))",
                }
            ],
        ),
    ] = field(default_factory=list)
    extra_volumes: Annotated[
        list[HostPathMount], rules(min_items=1, max_items=100, x_kubernetes_list_type="atomic")
    ] = field(default_factory=list)
    extra_envs: Annotated[
        list[EnvVar] | None, rules(min_items=1, max_items=100, x_kubernetes_list_type="atomic")
    ] = None


class DNS(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    image_repository: Annotated[str, rules(min_length=1, max_length=512)] = ""
    image_tag: Annotated[str, rules(min_length=1, max_length=256)] = ""


class ExternalEtcd(Model):
    endpoints: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=512)]],
        rules(min_items=1, max_items=50, x_kubernetes_list_type="atomic"),
    ]
    ca_file: Annotated[str, rules(min_length=1, max_length=512)]
    cert_file: Annotated[str, rules(min_length=1, max_length=512)]
    key_file: Annotated[str, rules(min_length=1, max_length=512)]


class LocalEtcd(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    image_repository: Annotated[str, rules(min_length=1, max_length=512)] = ""
    image_tag: Annotated[str, rules(min_length=1, max_length=256)] = ""
    data_dir: Annotated[str, rules(min_length=1, max_length=512)] = ""
    extra_args: Annotated[
        list[Arg],
        rules(
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name", "value"],
            x_kubernetes_validations=[
                {
                    "message": "extraArgs name must be unique",
                    "rule": "self.all(x, self.exists_one(y, x.name == y.name))",
                }
            ],
        ),
    ] = field(default_factory=list)
    extra_envs: Annotated[
        list[EnvVar] | None, rules(min_items=1, max_items=100, x_kubernetes_list_type="atomic")
    ] = None
    server_cert_sans: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=253)]],
        rules(min_items=1, max_items=100, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list, name="serverCertSANs")
    peer_cert_sans: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=253)]],
        rules(min_items=1, max_items=100, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list, name="peerCertSANs")


class Etcd(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    local: LocalEtcd = field(default_factory=LocalEtcd)
    external: ExternalEtcd | None = None


class Scheduler(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    extra_args: Annotated[
        list[Arg],
        rules(
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name", "value"],
            x_kubernetes_validations=[
                {
                    "message": "extraArgs name must be unique",
                    "rule": "self.all(x, self.exists_one(y, x.name == y.name))",
                }
            ],
        ),
    ] = field(default_factory=list)
    extra_volumes: Annotated[
        list[HostPathMount], rules(min_items=1, max_items=100, x_kubernetes_list_type="atomic")
    ] = field(default_factory=list)
    extra_envs: Annotated[
        list[EnvVar] | None, rules(min_items=1, max_items=100, x_kubernetes_list_type="atomic")
    ] = None


class ClusterConfiguration(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    etcd: Etcd = field(default_factory=Etcd)
    control_plane_endpoint: Annotated[str, rules(min_length=1, max_length=512)] = ""
    api_server: APIServer = field(default_factory=APIServer)
    controller_manager: ControllerManager = field(default_factory=ControllerManager)
    scheduler: Scheduler = field(default_factory=Scheduler)
    dns: DNS = field(default_factory=DNS)
    certificates_dir: Annotated[str, rules(min_length=1, max_length=512)] = ""
    image_repository: Annotated[str, rules(min_length=1, max_length=512)] = ""
    feature_gates: dict[str, bool] = field(default_factory=dict)
    certificate_validity_period_days: Annotated[
        int, rules(format="int32", minimum=1, maximum=1095)
    ] = 0
    ca_certificate_validity_period_days: Annotated[
        int, rules(format="int32", minimum=1, maximum=36500)
    ] = 0
    encryption_algorithm: Annotated[
        str, rules(enum=["ECDSA-P256", "ECDSA-P384", "RSA-2048", "RSA-3072", "RSA-4096"])
    ] = ""


class BootstrapToken(Model):
    token: Annotated[str, rules(min_length=1, max_length=23)]
    description: Annotated[str, rules(min_length=1, max_length=512)] = ""
    ttl_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = None
    expires: Annotated[str | None, rules(format="date-time")] = None
    usages: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(min_items=1, max_items=100, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)
    groups: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(min_items=1, max_items=100, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)


class LocalAPIEndpoint(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    advertise_address: Annotated[str, rules(min_length=1, max_length=39)] = ""
    bind_port: Annotated[int, rules(format="int32", minimum=1)] = 0


class NodeRegistrationOptions(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    name: Annotated[str, rules(min_length=1, max_length=253)] = ""
    cri_socket: Annotated[str, rules(min_length=1, max_length=512)] = ""
    taints: Annotated[list[Taint] | None, rules(min_items=0, max_items=100)] = None
    kubelet_extra_args: Annotated[
        list[Arg],
        rules(
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name", "value"],
            x_kubernetes_validations=[
                {
                    "message": "kubeletExtraArgs name must be unique",
                    "rule": "self.all(x, self.exists_one(y, x.name == y.name))",
                }
            ],
        ),
    ] = field(default_factory=list)
    ignore_preflight_errors: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=512)]],
        rules(min_items=1, max_items=50, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)
    image_pull_policy: Annotated[str, rules(enum=["Always", "IfNotPresent", "Never"])] = ""
    image_pull_serial: bool | None = None


class Patches(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    directory: Annotated[str, rules(min_length=1, max_length=512)] = ""


class Timeouts(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    control_plane_component_health_check_seconds: Annotated[
        int | None, rules(format="int32", minimum=0)
    ] = None
    kubelet_health_check_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = None
    kubernetes_api_call_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = field(
        default=None, name="kubernetesAPICallSeconds"
    )
    etcd_api_call_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = field(
        default=None, name="etcdAPICallSeconds"
    )
    tls_bootstrap_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = None
    discovery_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = None


class InitConfiguration(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    bootstrap_tokens: Annotated[
        list[BootstrapToken], rules(min_items=1, max_items=100, x_kubernetes_list_type="atomic")
    ] = field(default_factory=list)
    node_registration: NodeRegistrationOptions = field(default_factory=NodeRegistrationOptions)
    local_api_endpoint: LocalAPIEndpoint = field(
        default_factory=LocalAPIEndpoint, name="localAPIEndpoint"
    )
    skip_phases: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(min_items=1, max_items=50, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)
    patches: Patches = field(default_factory=Patches)
    timeouts: Timeouts = field(default_factory=Timeouts)


class BootstrapTokenDiscovery(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    token: Annotated[str, rules(min_length=1, max_length=512)] = ""
    api_server_endpoint: Annotated[str, rules(min_length=1, max_length=512)] = ""
    ca_cert_hashes: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=512)]],
        rules(min_items=1, max_items=100, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)
    unsafe_skip_ca_verification: bool | None = field(default=None, name="unsafeSkipCAVerification")


class KubeConfigCluster(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    server: Annotated[str, rules(min_length=1, max_length=512)] = ""
    tls_server_name: Annotated[str, rules(min_length=1, max_length=512)] = ""
    insecure_skip_tls_verify: bool | None = field(default=None, name="insecureSkipTLSVerify")
    certificate_authority_data: Annotated[
        str, rules(format="byte", min_length=1, max_length=51200)
    ] = ""
    proxy_url: Annotated[str, rules(min_length=1, max_length=512)] = field(
        default="", name="proxyURL"
    )


class KubeConfigAuthExecEnv(Model):
    name: Annotated[str, rules(min_length=1, max_length=512)]
    value: Annotated[str, rules(min_length=1, max_length=512)]


class KubeConfigAuthExec(Model):
    command: Annotated[str, rules(min_length=1, max_length=1024)]
    args: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=512)]],
        rules(min_items=1, max_items=100, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)
    env: Annotated[
        list[KubeConfigAuthExecEnv],
        rules(min_items=1, max_items=100, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)
    api_version: Annotated[str, rules(min_length=1, max_length=512)] = ""
    provide_cluster_info: bool | None = None


class KubeConfigAuthProvider(Model):
    name: Annotated[str, rules(min_length=1, max_length=256)]
    config: dict[str, str] = field(default_factory=dict)


class KubeConfigUser(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    auth_provider: KubeConfigAuthProvider | None = None
    exec: KubeConfigAuthExec | None = None


class FileDiscoveryKubeConfig(Model):
    user: KubeConfigUser
    cluster: KubeConfigCluster = field(default_factory=KubeConfigCluster)


class FileDiscovery(Model):
    kube_config_path: Annotated[str, rules(min_length=1, max_length=512)]
    kube_config: FileDiscoveryKubeConfig | None = None


class Discovery(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    bootstrap_token: BootstrapTokenDiscovery = field(default_factory=BootstrapTokenDiscovery)
    file: FileDiscovery | None = None
    tls_bootstrap_token: Annotated[str, rules(min_length=1, max_length=512)] = ""


class JoinControlPlane(Model):
    local_api_endpoint: LocalAPIEndpoint = field(
        default_factory=LocalAPIEndpoint, name="localAPIEndpoint"
    )


class JoinConfiguration(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    node_registration: NodeRegistrationOptions = field(default_factory=NodeRegistrationOptions)
    ca_cert_path: Annotated[str, rules(min_length=1, max_length=512)] = ""
    discovery: Discovery = field(default_factory=Discovery)
    control_plane: JoinControlPlane | None = None
    skip_phases: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(min_items=1, max_items=50, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)
    patches: Patches = field(default_factory=Patches)
    timeouts: Timeouts = field(default_factory=Timeouts)
