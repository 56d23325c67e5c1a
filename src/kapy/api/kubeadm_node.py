"""kubeadm's InitConfiguration and JoinConfiguration: how one machine becomes a Node."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.core_v1 import Taint
from kapy.api.kubeadm_components import Arg, arguments
from kapy.api.kubeadm_discovery import Discovery
from kapy.kube import Document
from kapy.kube.model import Model, rules


class BootstrapToken(Model):
    """BootstrapToken is a token with which machines join the cluster."""

    token: Annotated[
        str,
        rules(
            "token is the value of the token in the format id.secret, for example "
            "abcdef.0123456789abcdef.",
            min_length=1,
            max_length=23,
            form="token",
        ),
    ]
    description: Annotated[
        str,
        rules(
            "description explains the purpose of the token to humans. kubeadm token list shows it.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    ttl_seconds: Annotated[
        int | None,
        rules(
            "ttlSeconds is the lifetime of the token in seconds. With 0 it does not expire. "
            "It must not be set together with expires. If neither is set, it defaults to 24 "
            "hours, which kubeadm sets.",
            format="int32",
            minimum=0,
        ),
    ] = None
    expires: Annotated[
        str | None,
        rules(
            "expires is the time at which the token expires, in the format of RFC 3339. It "
            "must not be set together with ttlSeconds.",
            format="date-time",
        ),
    ] = None
    usages: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(
            "usages are the purposes of the token. Values are signing and authentication. "
            "Defaults to both, which kubeadm sets. At most 100 are allowed.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    groups: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(
            "groups are the groups of a user who authenticates with the token. Each must "
            "begin with system:bootstrappers:. At most 100 are allowed.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


class LocalAPIEndpoint(Model):
    """LocalAPIEndpoint is the address on which the API server of one machine listens."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    advertise_address: Annotated[
        str,
        rules(
            "advertiseAddress is the IP address that the API server announces to others. If "
            "it is not set, it defaults to the address of the default network interface.",
            min_length=1,
            max_length=39,
        ),
    ] = ""
    bind_port: Annotated[
        int,
        rules(
            "bindPort is the TCP port on which the API server of this machine listens. If it "
            "is not set, it defaults to 6443. It may differ from the port of "
            "controlPlaneEndpoint.",
            format="int32",
            minimum=1,
        ),
    ] = 0


class NodeRegistrationOptions(Model):
    """NodeRegistrationOptions configures the registration of a machine as a Node."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    name: Annotated[
        str,
        rules(
            "name is the name of the Node. If it is not set, it defaults to the host name of "
            "the machine. It may be a template of the bootstrap data, for example {{ "
            "ds.meta_data.local_hostname }}.",
            min_length=1,
            max_length=253,
        ),
    ] = ""
    cri_socket: Annotated[
        str,
        rules(
            "criSocket is the address of the container runtime, for example "
            "unix:///var/run/containerd/containerd.sock. If it is not set, kubeadm detects "
            "it.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    taints: Annotated[
        list[Taint] | None,
        rules(
            "taints are the taints with which the Node registers. If it is not set, a "
            "control plane Node gets the taint node-role.kubernetes.io/control-plane. An "
            "empty list means no taints. At most 100 are allowed.",
            min_items=0,
            max_items=100,
        ),
    ] = None
    kubelet_extra_args: Annotated[
        list[Arg],
        arguments(
            "kubeletExtraArgs are additional command line arguments of the kubelet, for "
            "example node-labels. They replace those of kubeadm with the same name. At most "
            "100 are allowed.",
            "kubeletExtraArgs",
        ),
    ] = field(default_factory=list)
    ignore_preflight_errors: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=512)]],
        rules(
            "ignorePreflightErrors are the names of preflight checks of kubeadm whose errors "
            "are ignored. The value all ignores all checks. At most 50 are allowed.",
            min_items=1,
            max_items=50,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    image_pull_policy: Annotated[
        str,
        rules(
            "imagePullPolicy tells when kubeadm pulls images. Allowed values are Always, "
            "IfNotPresent and Never. Defaults to IfNotPresent, which kubeadm sets.",
            enum=["Always", "IfNotPresent", "Never"],
        ),
    ] = ""
    image_pull_serial: Annotated[
        bool | None,
        rules(
            "imagePullSerial tells whether kubeadm pulls images one after the other. "
            "Defaults to true, which kubeadm sets. It requires Kubernetes v1.31 or newer."
        ),
    ] = None


class Patches(Model):
    """Patches are patches of the objects that kubeadm deploys."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    directory: Annotated[
        str,
        rules(
            "directory is the directory on the machine with patch files. A file name has the "
            "form target[suffix][+patchtype].extension, for example "
            "kube-apiserver0+merge.yaml. Use files to write them.",
            min_length=1,
            max_length=512,
        ),
    ] = ""


class Timeouts(Model):
    """Timeouts are the times for which kubeadm waits. They require Kubernetes v1.31 or newer."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    control_plane_component_health_check_seconds: Annotated[
        int | None,
        rules(
            "controlPlaneComponentHealthCheckSeconds is the time in seconds within which a "
            "control plane component must become healthy. If it is not set, it defaults to "
            "240. In a KubeadmControlPlane it must be equal in initConfiguration and "
            "joinConfiguration. A change causes no rollout and applies to new machines only.",
            format="int32",
            minimum=0,
        ),
    ] = None
    kubelet_health_check_seconds: Annotated[
        int | None,
        rules(
            "kubeletHealthCheckSeconds is the time in seconds within which the kubelet must "
            "become healthy. If it is not set, it defaults to 240.",
            format="int32",
            minimum=0,
        ),
    ] = None
    kubernetes_api_call_seconds: Annotated[
        int | None,
        rules(
            "kubernetesAPICallSeconds is the time in seconds within which the API server "
            "must answer a request. If it is not set, it defaults to 60.",
            format="int32",
            minimum=0,
        ),
    ] = field(default=None, name="kubernetesAPICallSeconds")
    etcd_api_call_seconds: Annotated[
        int | None,
        rules(
            "etcdAPICallSeconds is the time in seconds within which etcd must answer a "
            "request. If it is not set, it defaults to 120.",
            format="int32",
            minimum=0,
        ),
    ] = field(default=None, name="etcdAPICallSeconds")
    tls_bootstrap_seconds: Annotated[
        int | None,
        rules(
            "tlsBootstrapSeconds is the time in seconds within which the kubelet must get "
            "its certificate. If it is not set, it defaults to 300.",
            format="int32",
            minimum=0,
        ),
    ] = None
    discovery_seconds: Annotated[
        int | None,
        rules(
            "discoverySeconds is the time in seconds within which a joining machine must "
            "validate the identity of the API server. If it is not set, it defaults to 300.",
            format="int32",
            minimum=0,
        ),
    ] = None


_SkipPhases = Annotated[
    list[Annotated[str, rules(min_length=1, max_length=256)]],
    rules(
        "skipPhases are the names of phases of kubeadm that are skipped, for example "
        "addon/kube-proxy. At most 50 are allowed.",
        min_items=1,
        max_items=50,
        x_kubernetes_list_type="atomic",
    ),
]


class InitConfiguration(Model):
    """InitConfiguration is the configuration of kubeadm init, which runs on the first control
    plane machine.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    bootstrap_tokens: Annotated[
        list[BootstrapToken],
        rules(
            "bootstrapTokens are tokens that kubeadm init creates. Cluster API creates its "
            "own tokens for joining machines. At most 100 are allowed.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    node_registration: Annotated[
        NodeRegistrationOptions,
        rules(
            "nodeRegistration configures the registration of the machine as a Node. It "
            "should equal that of joinConfiguration."
        ),
    ] = field(default_factory=NodeRegistrationOptions)
    local_api_endpoint: Annotated[
        LocalAPIEndpoint,
        rules(
            "localAPIEndpoint is the address on which the API server of this machine "
            "listens. Its port defaults to 6443."
        ),
    ] = field(default_factory=LocalAPIEndpoint, name="localAPIEndpoint")
    skip_phases: _SkipPhases = field(default_factory=list)
    patches: Annotated[
        Patches,
        rules(
            "patches are patches of the static Pods and other objects that kubeadm deploys "
            "on the machine."
        ),
    ] = field(default_factory=Patches)
    timeouts: Annotated[
        Timeouts,
        rules("timeouts are the times for which kubeadm waits for components before it fails."),
    ] = field(default_factory=Timeouts)


class JoinControlPlane(Model):
    """JoinControlPlane configures a machine that joins the control plane."""

    local_api_endpoint: Annotated[
        LocalAPIEndpoint,
        rules(
            "localAPIEndpoint is the address on which the API server of this machine "
            "listens. Its port defaults to 6443."
        ),
    ] = field(default_factory=LocalAPIEndpoint, name="localAPIEndpoint")


class JoinConfiguration(Model):
    """JoinConfiguration is the configuration of kubeadm join, which runs on all machines but
    the first.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    node_registration: Annotated[
        NodeRegistrationOptions,
        rules(
            "nodeRegistration configures the registration of the machine as a Node. For "
            "control planes it should equal that of initConfiguration."
        ),
    ] = field(default_factory=NodeRegistrationOptions)
    ca_cert_path: Annotated[
        str,
        rules(
            "caCertPath is the path of the cluster's certificate authority on the machine. "
            "If it is not set, it defaults to /etc/kubernetes/pki/ca.crt.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    discovery: Annotated[
        Discovery,
        rules(
            "discovery configures how the machine finds and validates the API server. "
            "Cluster API fills in absent fields for each machine. A change causes no rollout "
            "of a KubeadmControlPlane and applies to new machines only."
        ),
    ] = field(default_factory=Discovery)
    control_plane: Annotated[
        JoinControlPlane | None,
        rules(
            "controlPlane configures the machine as a member of the control plane. If it is "
            "not set, Cluster API sets it for control plane machines."
        ),
    ] = None
    skip_phases: _SkipPhases = field(default_factory=list)
    patches: Annotated[
        Patches,
        rules(
            "patches are patches of the static Pods and other objects that kubeadm deploys "
            "on the machine."
        ),
    ] = field(default_factory=Patches)
    timeouts: Annotated[
        Timeouts,
        rules("timeouts are the times for which kubeadm waits for components before it fails."),
    ] = field(default_factory=Timeouts)
