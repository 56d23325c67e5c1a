"""Cluster API's kubeadm types, written as the YAML that a machine's kubeadm reads.

kubeadm's Go types write some fields always (empty maps for nested types, `null` for taints);
the text is equal to theirs to the byte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final

from kapy.kube import Document, duration
from kapy.kube.yaml import dump
from kapy.providers.kubeadm.configuration.apiversion import V1BETA3, kubeadm_api_version
from kapy.providers.kubeadm.configuration.cluster_facts import NOTHING, ClusterFacts

Arguments = Callable[[Sequence[Document] | None], Any]

_TIMEOUTS: Final = {
    "controlPlaneComponentHealthCheckSeconds": "controlPlaneComponentHealthCheck",
    "kubeletHealthCheckSeconds": "kubeletHealthCheck",
    "kubernetesAPICallSeconds": "kubernetesAPICall",
    "etcdAPICallSeconds": "etcdAPICall",
    "tlsBootstrapSeconds": "tlsBootstrap",
    "discoverySeconds": "discovery",
}


def cluster_configuration_file(
    configuration: Document, kubernetes_version: str, facts: ClusterFacts = NOTHING
) -> str:
    """kubeadm's ClusterConfiguration as YAML. Raises UnsupportedVersion."""
    api_version = kubeadm_api_version(kubernetes_version)
    old = api_version == V1BETA3
    source = configuration
    api_server = _component(source.get("apiServer", {}), old=old)
    api_server |= _without_empty({"certSANs": source.get("apiServer", {}).get("certSANs")})
    if old and facts.health_check_seconds is not None:
        api_server["timeoutForControlPlane"] = _seconds(facts.health_check_seconds)
    document: Document = {
        "apiServer": api_server,
        "controllerManager": _component(source.get("controllerManager", {}), old=old),
        "dns": _only(source.get("dns", {}), "imageRepository", "imageTag"),
        "etcd": _etcd(source.get("etcd", {}), old=old),
        "networking": _without_empty(
            {
                "dnsDomain": facts.dns_domain,
                "podSubnet": facts.pod_subnet,
                "serviceSubnet": facts.service_subnet,
            }
        ),
        "scheduler": _component(source.get("scheduler", {}), old=old),
    } | _only(source, "certificatesDir", "controlPlaneEndpoint", "featureGates", "imageRepository")
    document |= _without_empty(
        {
            "clusterName": facts.cluster_name,
            "kubernetesVersion": facts.kubernetes_version,
        }
    )
    if not old:
        document["proxy"] = {}
        document |= _only(source, "encryptionAlgorithm")
        for field in ("certificateValidityPeriod", "caCertificateValidityPeriod"):
            if days := source.get(f"{field}Days"):
                document[field] = duration.text(timedelta(days=days))
    return _file(document, "ClusterConfiguration", api_version)


def init_configuration_file(configuration: Document, kubernetes_version: str) -> str:
    """kubeadm's InitConfiguration as YAML. Raises UnsupportedVersion."""
    api_version = kubeadm_api_version(kubernetes_version)
    old = api_version == V1BETA3
    document: Document = {
        "localAPIEndpoint": _endpoint(configuration.get("localAPIEndpoint", {})),
        "nodeRegistration": _registration(configuration.get("nodeRegistration", {}), old=old),
    }
    if tokens := configuration.get("bootstrapTokens"):
        document["bootstrapTokens"] = [_token(token) for token in tokens]
    document |= _phases_patches_timeouts(configuration, old=old)
    return _file(document, "InitConfiguration", api_version)


def join_configuration_file(configuration: Document, kubernetes_version: str) -> str:
    """kubeadm's JoinConfiguration as YAML. Raises UnsupportedVersion."""
    api_version = kubeadm_api_version(kubernetes_version)
    old = api_version == V1BETA3
    discovery = _discovery(configuration.get("discovery", {}))
    seconds = configuration.get("timeouts", {}).get("tlsBootstrapSeconds")
    if old and seconds is not None:
        discovery["timeout"] = _seconds(seconds)
    document = {
        "discovery": discovery,
        "nodeRegistration": _registration(configuration.get("nodeRegistration", {}), old=old),
    } | _only(configuration, "caCertPath")
    control_plane = configuration.get("controlPlane")
    if control_plane is not None:
        endpoint = _endpoint(control_plane.get("localAPIEndpoint", {}))
        document["controlPlane"] = {"localAPIEndpoint": endpoint}
    document |= _phases_patches_timeouts(configuration, old=old)
    return _file(document, "JoinConfiguration", api_version)


def _file(document: Document, kind: str, api_version: str) -> str:
    return dump({"apiVersion": api_version, "kind": kind, **document})


def _phases_patches_timeouts(source: Document, *, old: bool) -> Document:
    document = _only(source, "skipPhases")
    if patches := source.get("patches"):
        document["patches"] = _only(patches, "directory")
    if not old and (timeouts := source.get("timeouts")):
        document["timeouts"] = {
            name: _seconds(timeouts[field])
            for field, name in _TIMEOUTS.items()
            if timeouts.get(field) is not None
        }
    return document


def _component(source: Document, *, old: bool) -> Document:
    return _arguments_and_environment(source, "extraArgs", old=old) | _without_empty(
        {"extraVolumes": [_volume(volume) for volume in source.get("extraVolumes") or ()]}
    )


def _arguments_and_environment(source: Document, field: str, *, old: bool) -> Document:
    arguments: Any = [
        {"name": item.get("name", ""), "value": item.get("value") or ""}
        for item in source.get(field) or ()
    ]
    if old:  # v1beta3 has a map: the last of several values wins
        return _without_empty(
            {field: {argument["name"]: argument["value"] for argument in arguments}}
        )
    environment = [_variable(variable) for variable in source.get("extraEnvs") or ()]
    return _without_empty({field: arguments, "extraEnvs": environment})


def _variable(source: Document) -> Document:
    variable = {"name": source.get("name", ""), **_only(source, "value", "valueFrom")}
    resource = variable.get("valueFrom", {}).get("resourceFieldRef")
    if resource is not None and "divisor" not in resource:
        whole = {**resource, "divisor": "0"}
        variable["valueFrom"] = {**variable["valueFrom"], "resourceFieldRef": whole}
    return variable


def _volume(source: Document) -> Document:
    always = {field: source.get(field, "") for field in ("hostPath", "mountPath", "name")}
    return always | _only(source, "pathType", "readOnly")


def _etcd(source: Document, *, old: bool) -> Document:
    etcd: Document = {}
    if local := source.get("local"):
        etcd["local"] = {
            "dataDir": local.get("dataDir", ""),
            **_only(local, "imageRepository", "imageTag", "serverCertSANs", "peerCertSANs"),
            **_arguments_and_environment(local, "extraArgs", old=old),
        }
    if external := source.get("external"):
        etcd["external"] = {
            "endpoints": external.get("endpoints"),
            "caFile": external.get("caFile", ""),
            "certFile": external.get("certFile", ""),
            "keyFile": external.get("keyFile", ""),
        }
    return etcd


def _endpoint(source: Document) -> Document:
    return _only(source, "advertiseAddress", "bindPort")


def _registration(source: Document, *, old: bool) -> Document:
    taints = source.get("taints")
    registration = {
        "taints": taints if taints is None else [_taint(taint) for taint in taints],
        **_only(source, "name", "criSocket", "ignorePreflightErrors", "imagePullPolicy"),
        **_arguments_and_environment(
            {"kubeletExtraArgs": source.get("kubeletExtraArgs")}, "kubeletExtraArgs", old=old
        ),
    }
    serial = source.get("imagePullSerial")
    if not old and serial is not None:
        registration["imagePullSerial"] = serial
    return registration


def _taint(source: Document) -> Document:
    return {
        "key": source.get("key", ""),
        "effect": source.get("effect", ""),
        **_only(source, "value", "timeAdded"),
    }


def _token(source: Document) -> Document:
    token = {
        "token": source.get("token") or None,
        **_only(source, "description", "expires", "usages", "groups"),
    }
    if (seconds := source.get("ttlSeconds")) is not None:
        token["ttl"] = _seconds(seconds)
    return token


def _discovery(source: Document) -> Document:
    discovery = _only(source, "tlsBootstrapToken")
    if token := source.get("bootstrapToken"):
        discovery["bootstrapToken"] = {
            "token": token.get("token", ""),
            **_only(token, "apiServerEndpoint", "caCertHashes", "unsafeSkipCAVerification"),
        }
    if file := source.get("file"):
        discovery["file"] = {"kubeConfigPath": file.get("kubeConfigPath", "")}
    return discovery


def _only(source: Document, *fields: str) -> Document:
    """Return the fields that are set and not empty (Go's `omitempty`)."""
    return {field: source[field] for field in fields if source.get(field)}


def _without_empty(document: Document) -> Document:
    return {field: value for field, value in document.items() if value}


def _seconds(seconds: int) -> str:
    return duration.text(timedelta(seconds=seconds))
