"""Discovery: how a machine that runs kubeadm join finds and validates the API server."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.kube import Document
from kapy.kube.model import Model, rules


class BootstrapTokenDiscovery(Model):
    """BootstrapTokenDiscovery finds the API server with a bootstrap token."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    token: Annotated[
        str,
        rules(
            "token is the token that validates the cluster information. If it is not set, "
            "Cluster API creates a token for each machine.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    api_server_endpoint: Annotated[
        str,
        rules(
            "apiServerEndpoint is the host name or IP address and port of the API server. If "
            "it is not set, it defaults to controlPlaneEndpoint of the Cluster.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    ca_cert_hashes: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=512)]],
        rules(
            "caCertHashes are hashes of public keys of trusted certificate authorities, in "
            "the format type:value. If it is not set, it defaults to the hash of the "
            "Cluster's certificate authority. At most 100 are allowed.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    unsafe_skip_ca_verification: Annotated[
        bool | None,
        rules(
            "unsafeSkipCAVerification skips the verification of the certificate authority by "
            "caCertHashes. This weakens security. Defaults to false."
        ),
    ] = field(default=None, name="unsafeSkipCAVerification")


class KubeConfigCluster(Model):
    """KubeConfigCluster is the cluster in a kubeconfig file."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    server: Annotated[
        str,
        rules(
            "server is the URL of the API server. If it is not set, it defaults to "
            "controlPlaneEndpoint of the Cluster.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    tls_server_name: Annotated[
        str,
        rules(
            "tlsServerName is the name that is checked in the serving certificate. If it is "
            "not set, the host name of server is checked.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    insecure_skip_tls_verify: Annotated[
        bool | None,
        rules(
            "insecureSkipTLSVerify skips the verification of the serving certificate. This "
            "weakens security. Defaults to false."
        ),
    ] = field(default=None, name="insecureSkipTLSVerify")
    certificate_authority_data: Annotated[
        str,
        rules(
            "certificateAuthorityData is the certificate authority in PEM format, encoded as "
            "base64. If it is not set, it defaults to the Cluster's certificate authority.",
            format="byte",
            min_length=1,
            max_length=51200,
        ),
    ] = ""
    proxy_url: Annotated[
        str,
        rules(
            "proxyURL is the URL of the proxy for requests to the API server. If it is not "
            "set, the proxy follows from the environment of the process.",
            min_length=1,
            max_length=512,
        ),
    ] = field(default="", name="proxyURL")


class KubeConfigAuthExecEnv(Model):
    """KubeConfigAuthExecEnv is an environment variable of a credential program."""

    name: Annotated[
        str,
        rules(
            "name is the name of an environment variable of the program. It must not be empty.",
            min_length=1,
            max_length=512,
        ),
    ]
    value: Annotated[
        str,
        rules(
            "value is the value of the environment variable. References to other variables "
            "are not replaced.",
            min_length=1,
            max_length=512,
        ),
    ]


class KubeConfigAuthExec(Model):
    """KubeConfigAuthExec is a program that prints credentials."""

    command: Annotated[
        str,
        rules(
            "command is the program that is executed to get credentials. It must exist on "
            "the machine.",
            min_length=1,
            max_length=1024,
        ),
    ]
    args: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=512)]],
        rules(
            "args are the arguments with which the program is called. At most 100 are allowed.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    env: Annotated[
        list[KubeConfigAuthExecEnv],
        rules(
            "env are environment variables that are added to those of the calling process. "
            "At most 100 are allowed.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    api_version: Annotated[
        str,
        rules(
            "apiVersion is the version of the ExecCredential object that the program reads "
            "and prints. If it is not set, it defaults to client.authentication.k8s.io/v1.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    provide_cluster_info: Annotated[
        bool | None,
        rules(
            "provideClusterInfo passes information about the cluster to the program in the "
            "environment variable KUBERNETES_EXEC_INFO. Defaults to false."
        ),
    ] = None


class KubeConfigAuthProvider(Model):
    """KubeConfigAuthProvider is an authentication plugin that is built into the client."""

    name: Annotated[
        str,
        rules(
            "name is the name of the authentication plugin. Current clients have no such "
            "plugins. Use exec instead.",
            min_length=1,
            max_length=256,
        ),
    ]
    config: Annotated[
        dict[str, str],
        rules("config are the settings of the authentication plugin, as names and values."),
    ] = field(default_factory=dict)


class KubeConfigUser(Model):
    """KubeConfigUser is the user in a kubeconfig file. authProvider and exec must not be set
    together.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    auth_provider: Annotated[
        KubeConfigAuthProvider | None,
        rules(
            "authProvider is an authentication plugin that is built into the client. It must "
            "not be set together with exec.",
            zero="omitted",
        ),
    ] = None
    exec: Annotated[
        KubeConfigAuthExec | None,
        rules(
            "exec is a program that prints credentials. It must not be set together with "
            "authProvider.",
            zero="omitted",
        ),
    ] = None


class FileDiscoveryKubeConfig(Model, kw_only=True):
    """FileDiscoveryKubeConfig is the content of the kubeconfig file for discovery."""

    cluster: Annotated[
        KubeConfigCluster,
        rules(
            "cluster is the cluster in the kubeconfig file. If it is not set, it defaults to "
            "the endpoint and certificate authority of the Cluster."
        ),
    ] = field(default_factory=KubeConfigCluster)
    user: Annotated[
        KubeConfigUser,
        rules(
            "user is the user in the kubeconfig file. It tells how the client authenticates "
            "to the API server."
        ),
    ]


class FileDiscovery(Model):
    """FileDiscovery finds the API server with a kubeconfig file."""

    kube_config_path: Annotated[
        str,
        rules(
            "kubeConfigPath is the path on the machine or the URL of the kubeconfig file. If "
            "kubeConfig is set, it must be a path.",
            min_length=1,
            max_length=512,
        ),
    ]
    kube_config: Annotated[
        FileDiscoveryKubeConfig | None,
        rules(
            "kubeConfig is the content of the kubeconfig file. If it is set, Cluster API "
            "writes the file to kubeConfigPath.",
            zero="omitted",
        ),
    ] = None


class Discovery(Model):
    """Discovery configures how a joining machine finds and validates the API server.
    bootstrapToken and file must not be set together.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    bootstrap_token: Annotated[
        BootstrapTokenDiscovery,
        rules("bootstrapToken finds the API server with a bootstrap token. This is the default."),
    ] = field(default_factory=BootstrapTokenDiscovery)
    file: Annotated[
        FileDiscovery | None,
        rules(
            "file finds the API server with a kubeconfig file. It must not be set together "
            "with bootstrapToken.",
            zero="omitted",
        ),
    ] = None
    tls_bootstrap_token: Annotated[
        str,
        rules(
            "tlsBootstrapToken is the token with which the kubelet requests its certificate. "
            "If it is not set, it defaults to the token in bootstrapToken.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
