"""kubeadm's configurations as v1beta1 had them: arguments were maps."""

from typing import Annotated, Any, Final

from kapy.api import kubeadm, kubeadm_components, kubeadm_discovery, kubeadm_node
from kapy.api.env_vars import EnvVar
from kapy.api.older.difference import Difference, OldModel, Place, Row
from kapy.api.older.durations import DURATION
from kapy.api.older.fields import camel_case
from kapy.api.older.rows import (
    add,
    custom,
    drop,
    loosen,
    make_optional,
    move,
    plain_values,
    pointers,
    retype,
    values,
)
from kapy.kube import Document
from kapy.kube.model import rules

_TYPE: Final[dict[str, Any]] = {
    "api_version": Annotated[
        str,
        rules(
            "apiVersion is the version of the API of kubeadm. It is ignored. Cluster API "
            "selects the version according to the Kubernetes version."
        ),
    ],
    "kind": Annotated[
        str,
        rules(
            "kind is the kind in the API of kubeadm. It is ignored. Cluster API selects the "
            "kind according to the use."
        ),
    ],
}
_COMPONENT: Final[dict[str, Any]] = {
    "extra_envs": Annotated[list[EnvVar], rules(max_items=100)],
}


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


def _arguments(name: str) -> tuple[Row, ...]:
    """Return the rows of arguments, which were a map."""
    key = camel_case(name)

    def upgrade(part: Document, _: Document | None, __: Place) -> None:
        if arguments := part.pop(key, None):
            part[key] = [
                {"name": argument, "value": arguments[argument]} for argument in sorted(arguments)
            ]

    def downgrade(part: Document, _: Place) -> None:
        if arguments := part.pop(key, None):
            part[key] = {
                argument.get("name", ""): argument.get("value", "") for argument in arguments
            }

    return retype(**{name: dict[str, str]}), custom(upgrade, downgrade)


def _upgrade_token(token: Document, _: Document | None, __: Place) -> None:
    if token.get("token") is None:
        token.pop("token", None)


_EXTRA: Final[tuple[Row, ...]] = (*_arguments("extra_args"), retype(**_COMPONENT))

DIFFERENCES: Final = (
    Difference(kubeadm_components.HostPathMount, plain_values("read_only")),
    Difference(kubeadm_components.ControlPlaneComponent, *_EXTRA, loosen("extra_volumes")),
    Difference(
        kubeadm.APIServer,
        *_EXTRA,
        loosen("extra_volumes", "cert_sans"),
        add(
            timeout_for_control_plane=Annotated[
                str | None,
                rules(
                    "timeoutForControlPlane is the time within which the API server must become "
                    "healthy, as a duration, for example 4m0s. If it is not set, it defaults to "
                    "4m0s.",
                    form="duration",
                ),
            ]
        ),
    ),
    Difference(kubeadm.DNS),
    Difference(kubeadm.ExternalEtcd, loosen("endpoints")),
    Difference(kubeadm.LocalEtcd, *_EXTRA, loosen("server_cert_sans", "peer_cert_sans")),
    Difference(kubeadm.Etcd, pointers("local")),
    Difference(
        kubeadm.ClusterConfiguration,
        add(
            **_TYPE,
            networking=Annotated[
                Networking,
                rules(
                    "networking configures the networks of the cluster. Cluster API uses "
                    "spec.clusterNetwork of the Cluster instead."
                ),
            ],
            kubernetes_version=Annotated[
                str,
                rules(
                    "kubernetesVersion is the Kubernetes version of the control plane. Cluster API "
                    "uses the version of the Machine instead.",
                    min_length=1,
                    max_length=256,
                ),
            ],
            cluster_name=Annotated[
                str,
                rules(
                    "clusterName is the name of the cluster. Cluster API uses the name of the "
                    "Cluster instead.",
                    min_length=1,
                    max_length=63,
                ),
            ],
        ),
    ),
    Difference(
        kubeadm_node.BootstrapToken,
        drop("ttl_seconds"),
        retype(token=Annotated[str | None, rules(required=True, zero="written", form="token")]),
        make_optional("token"),
        custom(_upgrade_token, None),
        loosen("usages", "groups"),
        move(
            "ttlSeconds",
            DURATION,
            ttl=Annotated[
                str | None,
                rules(
                    "ttl is the lifetime of the token as a duration, for example 24h0m0s. With 0s "
                    "it does not expire. It must not be set together with expires. If neither is "
                    "set, it defaults to 24h0m0s.",
                    form="duration",
                ),
            ],
        ),
    ),
    Difference(kubeadm_node.LocalAPIEndpoint, loosen("bind_port")),
    Difference(
        kubeadm_node.NodeRegistrationOptions,
        *_arguments("kubelet_extra_args"),
        loosen("taints", "ignore_preflight_errors"),
    ),
    Difference(kubeadm_node.Patches),
    Difference(
        kubeadm_node.InitConfiguration,
        drop("timeouts"),
        pointers("patches"),
        loosen("bootstrap_tokens", "skip_phases"),
        add(**_TYPE),
    ),
    Difference(
        kubeadm_node.JoinConfiguration,
        drop("timeouts"),
        pointers("patches"),
        loosen("skip_phases"),
        add(**_TYPE),
    ),
    Difference(kubeadm_node.JoinControlPlane),
    Difference(
        kubeadm_discovery.BootstrapTokenDiscovery,
        values("unsafe_skip_ca_verification"),
        loosen("ca_cert_hashes"),
    ),
    Difference(kubeadm_discovery.KubeConfigCluster, values("insecure_skip_tls_verify")),
    Difference(kubeadm_discovery.KubeConfigAuthExecEnv),
    Difference(
        kubeadm_discovery.KubeConfigAuthExec, values("provide_cluster_info"), loosen("args", "env")
    ),
    Difference(kubeadm_discovery.KubeConfigAuthProvider),
    Difference(kubeadm_discovery.KubeConfigUser),
    Difference(kubeadm_discovery.FileDiscoveryKubeConfig, pointers("cluster")),
    Difference(kubeadm_discovery.FileDiscovery),
    Difference(
        kubeadm_discovery.Discovery,
        pointers("bootstrap_token"),
        add(
            timeout=Annotated[
                str | None,
                rules(
                    "timeout is the time within which a joining machine must validate the identity "
                    "of the API server, as a duration, for example 5m0s. If it is not set, it "
                    "defaults to 5m0s.",
                    form="duration",
                ),
            ]
        ),
    ),
)
