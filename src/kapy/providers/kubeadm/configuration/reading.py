"""kubeadm's configuration files, read into Cluster API's types.

The workload cluster keeps its ClusterConfiguration in the ConfigMap `kubeadm-config`, in the
version of the kubeadm that wrote it last.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from kapy.kube import Document, duration
from kapy.kube.errors import KapyError
from kapy.kube.yaml import YamlError, load
from kapy.providers.kubeadm.configuration.apiversion import V1BETA3, V1BETA4
from kapy.providers.kubeadm.configuration.cluster_facts import NOTHING, ClusterFacts

_MAX_BYTES: Final = 2**31 - 1
_TIMEOUTS: Final = {
    "controlPlaneComponentHealthCheck": "controlPlaneComponentHealthCheckSeconds",
    "kubeletHealthCheck": "kubeletHealthCheckSeconds",
    "kubernetesAPICall": "kubernetesAPICallSeconds",
    "etcdAPICall": "etcdAPICallSeconds",
    "tlsBootstrap": "tlsBootstrapSeconds",
    "discovery": "discoverySeconds",
}


class UnknownConfiguration(KapyError):
    """The text is no kubeadm configuration of a kind and version that we know."""


def read_cluster_configuration(text: str) -> tuple[Document, ClusterFacts]:
    """Convert kubeadm's ClusterConfiguration to that of Cluster API; also return the facts for
    which Cluster API's type has no fields.

    Raises UnknownConfiguration.
    """
    if not text.strip():  # defaults only
        return {}, NOTHING
    source = _document(text, "ClusterConfiguration")
    api_server = source.get("apiServer") or {}
    networking = source.get("networking") or {}
    configuration = _without_empty(
        {
            "etcd": _etcd(source.get("etcd") or {}),
            "apiServer": _component(api_server) | _only(api_server, "certSANs"),
            "controllerManager": _component(source.get("controllerManager") or {}),
            "scheduler": _component(source.get("scheduler") or {}),
            "dns": _only(source.get("dns") or {}, "imageRepository", "imageTag"),
            **_only(
                source,
                "controlPlaneEndpoint",
                "certificatesDir",
                "imageRepository",
                "featureGates",
                "encryptionAlgorithm",
            ),
        }
    )
    for field in ("certificateValidityPeriod", "caCertificateValidityPeriod"):
        if text_of := source.get(field):
            days = _duration(text_of, field) // timedelta(days=1)
            configuration |= _without_empty({f"{field}Days": min(days, _MAX_BYTES)})
    timeout = api_server.get("timeoutForControlPlane")
    return configuration, ClusterFacts(
        kubernetes_version=source.get("kubernetesVersion") or None,
        cluster_name=source.get("clusterName") or None,
        dns_domain=networking.get("dnsDomain") or None,
        service_subnet=networking.get("serviceSubnet") or None,
        pod_subnet=networking.get("podSubnet") or None,
        health_check_seconds=_seconds(timeout, "timeoutForControlPlane") if timeout else None,
    )


def read_init_configuration(text: str) -> Document:
    """Convert kubeadm's InitConfiguration to that of Cluster API. Raises UnknownConfiguration."""
    source = _document(text, "InitConfiguration")
    return _without_empty(
        {
            "bootstrapTokens": [_token(token) for token in source.get("bootstrapTokens") or ()],
            "nodeRegistration": _registration(source.get("nodeRegistration") or {}),
            "localAPIEndpoint": _endpoint(source.get("localAPIEndpoint") or {}),
            **_phases_patches_timeouts(source),
        }
    )


def read_join_configuration(text: str) -> Document:
    """Convert kubeadm's JoinConfiguration to that of Cluster API. Raises UnknownConfiguration."""
    source = _document(text, "JoinConfiguration")
    discovery = source.get("discovery") or {}
    configuration = _without_empty(
        {
            "nodeRegistration": _registration(source.get("nodeRegistration") or {}),
            "discovery": _discovery(discovery),
            **_only(source, "caCertPath"),
            **_phases_patches_timeouts(source),
        }
    )
    control_plane = source.get("controlPlane")
    if control_plane is not None:
        endpoint = _endpoint(control_plane.get("localAPIEndpoint") or {})
        configuration["controlPlane"] = _without_empty({"localAPIEndpoint": endpoint})
    if timeout := discovery.get("timeout"):
        configuration["timeouts"] = {"tlsBootstrapSeconds": _seconds(timeout, "timeout")}
    return configuration


def _document(text: str, kind: str) -> Document:
    try:
        document = load(text)
    except YamlError as error:
        raise UnknownConfiguration(f"unknown kubeadm types: {error}") from error
    is_supported = isinstance(document, dict) and document.get("apiVersion") in (V1BETA3, V1BETA4)
    if not is_supported or document.get("kind") != kind:
        raise UnknownConfiguration("unknown kubeadm types")
    result: Document = document
    return result


def _phases_patches_timeouts(source: Document) -> Document:
    timeouts = source.get("timeouts") or {}
    return _only(source, "skipPhases") | _without_empty(
        {
            "patches": _only(source.get("patches") or {}, "directory"),
            "timeouts": {
                field: _seconds(timeouts[name], name)
                for name, field in _TIMEOUTS.items()
                if name in timeouts
            },
        }
    )


def _component(source: Document) -> Document:
    return _arguments(source, "extraArgs") | _without_empty(
        {
            "extraVolumes": [
                {"readOnly": False, **_without_empty(volume)}
                for volume in source.get("extraVolumes") or ()
            ],
            "extraEnvs": source.get("extraEnvs"),
        }
    )


def _arguments(source: Document, field: str) -> Document:
    """Return extra arguments as a list, which v1beta3 stores as a map; empty ones are left out."""
    arguments = source.get(field)
    if isinstance(arguments, dict):
        arguments = [{"name": name, "value": value} for name, value in sorted(arguments.items())]
    return _without_empty({field: arguments})


def _etcd(source: Document) -> Document:
    local = source.get("local") or {}
    fields = ("imageRepository", "imageTag", "dataDir", "serverCertSANs", "peerCertSANs")
    return _without_empty(
        {
            "local": _only(local, *fields, "extraEnvs") | _arguments(local, "extraArgs"),
            "external": _only(
                source.get("external") or {}, "endpoints", "caFile", "certFile", "keyFile"
            ),
        }
    )


def _endpoint(source: Document) -> Document:
    return _only(source, "advertiseAddress", "bindPort")


def _registration(source: Document) -> Document:
    fields = ("name", "criSocket", "ignorePreflightErrors", "imagePullPolicy")
    registration = _only(source, *fields) | _arguments(source, "kubeletExtraArgs")
    for field in ("taints", "imagePullSerial"):
        if source.get(field) is not None:
            registration[field] = source[field]
    return registration


def _token(source: Document) -> Document:
    token = {"token": source.get("token") or ""}
    token |= _only(source, "description", "expires", "usages", "groups")
    if ttl := source.get("ttl"):
        token["ttlSeconds"] = _seconds(ttl, "ttl")
    return token


def _discovery(source: Document) -> Document:
    discovery = _only(source, "tlsBootstrapToken")
    token = source.get("bootstrapToken")
    if token is not None:
        discovery["bootstrapToken"] = {
            **_only(token, "token", "apiServerEndpoint", "caCertHashes"),
            "unsafeSkipCAVerification": token.get("unsafeSkipCAVerification", False),
        }
    file = _only(source.get("file") or {}, "kubeConfigPath")
    return discovery | _without_empty({"file": file})


def _duration(text: Any, field: str) -> timedelta:
    try:
        return duration.parse(str(text))
    except ValueError as error:
        raise UnknownConfiguration(f"unknown kubeadm types: {field}: {error}") from error


def _seconds(text: Any, field: str) -> int:
    return min(_duration(text, field) // timedelta(seconds=1), _MAX_BYTES)


def _only(source: Document, *fields: str) -> Document:
    """Return the fields that are set and not empty."""
    return {field: source[field] for field in fields if source.get(field)}


def _without_empty(document: Document) -> Document:
    return {field: value for field, value in document.items() if value}
