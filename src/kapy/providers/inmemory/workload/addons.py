"""The add-ons that `kubeadm init` installs in a cluster: its Services, kube-proxy and CoreDNS.

Their contents are kubeadm's defaults, without the parts that no controller reads.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from kapy.kube import Document
from kapy.kube.digits import parse_digits
from kapy.kube.names import CONFIG_MAPS, DAEMON_SETS, DEPLOYMENTS, SERVICES, Resource
from kapy.kube.yaml import dump
from kapy.providers.inmemory.workload.objects import DEFAULT, SYSTEM, Objects

SERVICE_ACCOUNTS: Final = Resource("", "v1", "serviceaccounts", "ServiceAccount")

_COREDNS: Final = {
    29: "v1.11.1",
    30: "v1.11.3",
    31: "v1.11.3",
    32: "v1.11.3",
    33: "v1.12.0",
    34: "v1.12.1",
    35: "v1.13.1",
    36: "v1.14.2",
}
_COREDNS_OLDEST: Final = "v1.10.1"

# With the API server's defaults, so that the first write does not change the template.
_OF_CONTAINERS: Final[Document] = {
    "imagePullPolicy": "IfNotPresent",
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_OF_PODS: Final[Document] = {
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "terminationGracePeriodSeconds": 30,
}
_OF_VOLUMES: Final = {"defaultMode": 420}


def minor(version: str) -> int:
    """Return the minor number of `v1.34.0`; 0 when it has none."""
    parts = version.split(".")
    return (parse_digits(parts[1]) if len(parts) > 1 else None) or 0


def ensure_services(objects: Objects, subnet: str) -> None:
    """Create the Services of the API server and of DNS at kubeadm's addresses in the subnet."""
    first = subnet.partition("/")[0].rpartition(".")[0] or "10.96.0"
    objects.ensure(SERVICES, DEFAULT, "kubernetes", lambda: _kubernetes_service(f"{first}.1"))
    objects.ensure(SERVICES, SYSTEM, "kube-dns", lambda: _dns_service(f"{first}.10"))


@lru_cache(maxsize=64)
def _kubernetes_service(address: str) -> Document:
    ports = [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}]
    labels = {"component": "apiserver", "provider": "kubernetes"}
    return {"metadata": {"labels": labels}, "spec": _service(address, ports), "status": _IDLE}


@lru_cache(maxsize=64)
def _dns_service(address: str) -> Document:
    ports = [
        {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 53},
        {"name": "dns-tcp", "port": 53, "protocol": "TCP", "targetPort": 53},
        {"name": "metrics", "port": 9153, "protocol": "TCP", "targetPort": 9153},
    ]
    spec = {**_service(address, ports), "selector": _DNS_LABELS}
    return {"metadata": {"labels": _DNS_LABELS}, "spec": spec, "status": _IDLE}


_IDLE: Final[Document] = {"loadBalancer": {}}
_DNS_LABELS: Final = {"k8s-app": "kube-dns"}


def _service(address: str, ports: list[Document]) -> Document:
    return {
        "clusterIP": address,
        "clusterIPs": [address],
        "ports": ports,
        "sessionAffinity": "None",
        "type": "ClusterIP",
    }


def ensure_kube_proxy(objects: Objects, image: str, server: str, pods: str) -> None:
    """Create the objects of kube-proxy, unless they exist. server: the URL of the API server. pods:
    the subnets of Pods.
    """
    objects.ensure(SERVICE_ACCOUNTS, SYSTEM, "kube-proxy", dict)
    _config_map(objects, "kube-proxy", _kube_proxy_files(server, pods))
    objects.ensure(DAEMON_SETS, SYSTEM, "kube-proxy", lambda: _kube_proxy(image))


def _kube_proxy_files(server: str, pods: str) -> dict[str, str]:
    kubeconfig = f"apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n    server: {server}\n"
    return {"config.conf": _kube_proxy_configuration(pods), "kubeconfig.conf": kubeconfig}


@lru_cache(maxsize=64)
def _kube_proxy_configuration(pods: str) -> str:
    configuration = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "bindAddress": "0.0.0.0",
        "clientConnection": {"kubeconfig": "/var/lib/kube-proxy/kubeconfig.conf"},
        "clusterCIDR": pods,
    }
    return dump(configuration)


@lru_cache(maxsize=64)
def _kube_proxy(image: str) -> Document:
    container = {
        "name": "kube-proxy",
        "image": image,
        "command": [
            "/usr/local/bin/kube-proxy",
            "--config=/var/lib/kube-proxy/config.conf",
            "--hostname-override=$(NODE_NAME)",
        ],
        "volumeMounts": [{"mountPath": "/var/lib/kube-proxy", "name": "kube-proxy"}],
        **_OF_CONTAINERS,
    }
    labels = {"k8s-app": "kube-proxy"}
    pod = {
        "containers": [container],
        "hostNetwork": True,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "priorityClassName": "system-node-critical",
        "serviceAccountName": "kube-proxy",
        "tolerations": [{"operator": "Exists"}],
        "volumes": [{"configMap": {"name": "kube-proxy", **_OF_VOLUMES}, "name": "kube-proxy"}],
        "dnsPolicy": "ClusterFirst",
        "serviceAccount": "kube-proxy",
        **_OF_PODS,
    }
    return {
        "metadata": {"labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
            "revisionHistoryLimit": 10,
            "updateStrategy": {
                "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1},
                "type": "RollingUpdate",
            },
        },
        "status": dict.fromkeys(
            (
                "currentNumberScheduled",
                "desiredNumberScheduled",
                "numberMisscheduled",
                "numberReady",
            ),
            0,
        ),
    }


def ensure_coredns(objects: Objects, image: str, domain: str) -> None:
    """Create CoreDNS as kubeadm does."""
    objects.ensure(SERVICE_ACCOUNTS, SYSTEM, "coredns", dict)
    _config_map(objects, "coredns", _corefile(domain))
    objects.ensure(DEPLOYMENTS, SYSTEM, "coredns", lambda: _coredns(image))


@lru_cache(maxsize=64)
def _corefile(domain: str) -> dict[str, str]:
    text = f""".:53 {{
    errors
    health {{
       lameduck 5s
    }}
    ready
    kubernetes {domain} in-addr.arpa ip6.arpa {{
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }}
    prometheus :9153
    forward . /etc/resolv.conf {{
       max_concurrent 1000
    }}
    cache 30 {{
       disable success {domain}
       disable denial {domain}
    }}
    loop
    reload
    loadbalance
}}
"""
    return {"Corefile": text}


def coredns_version(minor_version: int) -> str:
    """Return the CoreDNS version of kubeadm for a Kubernetes minor version, or the newest known
    one."""
    return _COREDNS.get(min(minor_version, max(_COREDNS)), _COREDNS_OLDEST)


@lru_cache(maxsize=64)
def _coredns(image: str) -> Document:
    container = {
        "name": "coredns",
        "image": image,
        "args": ["-conf", "/etc/coredns/Corefile"],
        "volumeMounts": [{"mountPath": "/etc/coredns", "name": "config-volume", "readOnly": True}],
        **_OF_CONTAINERS,
    }
    files = [{"key": "Corefile", "path": "Corefile"}]
    volume = {"name": "coredns", "items": files, **_OF_VOLUMES}
    pod = {
        "containers": [container],
        "dnsPolicy": "Default",
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "priorityClassName": "system-cluster-critical",
        "serviceAccountName": "coredns",
        "tolerations": [
            {"key": "CriticalAddonsOnly", "operator": "Exists"},
            {"effect": "NoSchedule", "key": "node-role.kubernetes.io/control-plane"},
        ],
        "volumes": [{"configMap": volume, "name": "config-volume"}],
        "serviceAccount": "coredns",
        **_OF_PODS,
    }
    return {
        "metadata": {"labels": _DNS_LABELS},
        "spec": {
            "replicas": 2,
            "progressDeadlineSeconds": 600,
            "revisionHistoryLimit": 10,
            "selector": {"matchLabels": _DNS_LABELS},
            "strategy": {
                "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1},
                "type": "RollingUpdate",
            },
            "template": {"metadata": {"labels": _DNS_LABELS}, "spec": pod},
        },
        "status": {},
    }


def _config_map(objects: Objects, name: str, data: dict[str, str]) -> None:
    objects.ensure(CONFIG_MAPS, SYSTEM, name, lambda: {"data": data})
