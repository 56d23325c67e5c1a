"""Defaults of Kubernetes' own kinds.

Each function sets the defaults of one struct in place, so the document must be private. `DEFAULTS`
maps kinds to functions. Kubernetes' API reference documents the values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kapy.apiserver.resources.builtin.device_kinds import DEVICE_DEFAULTS
from kapy.kube import Document

Fill = Callable[[Document], None]

_MODE = 0o644


def _set(document: Document, **values: Any) -> None:
    """Set fields that are absent."""
    for name, value in values.items():
        if document.get(name) is None:
            document[name] = value


def _each(items: Any, fill: Fill) -> None:
    for item in items or ():
        fill(item)


def _handler(handler: Document) -> None:
    http = handler.get("httpGet")
    if http is not None:
        _set(http, path="/", scheme="HTTP")
        http["path"] = http["path"] or "/"
    grpc = handler.get("grpc")
    if grpc is not None:
        _set(grpc, service="")


def _probe(probe: Document | None) -> None:
    if probe is None:
        return
    _handler(probe)
    _set(probe, timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3)


def _port(port: Document) -> None:
    _set(port, protocol="TCP")


def _pull_policy(image: str) -> str:
    name = image.rpartition("/")[2]
    if "@" in name:
        return "IfNotPresent"
    tag = name.partition(":")[2]
    return "IfNotPresent" if tag and tag != "latest" else "Always"


def _container(container: Document) -> None:
    _set(
        container,
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
        imagePullPolicy=_pull_policy(container.get("image", "")),
    )
    _each(container.get("ports"), _port)
    for variable in container.get("env") or ():
        reference = (variable.get("valueFrom") or {}).get("fieldRef")
        if reference is not None:
            _set(reference, apiVersion="v1")
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        _probe(container.get(name))
    for hook in (container.get("lifecycle") or {}).values():
        if isinstance(hook, dict):
            _handler(hook)


def _downward(source: Document) -> None:
    for item in source.get("items") or ():
        if item.get("fieldRef") is not None:
            _set(item["fieldRef"], apiVersion="v1")


def _volume(volume: Document) -> None:
    sources = [name for name in volume if name != "name"]
    if not sources:
        volume["emptyDir"] = {}
    for name in ("secret", "configMap", "downwardAPI", "projected"):
        if volume.get(name) is not None:
            _set(volume[name], defaultMode=_MODE)
    if volume.get("downwardAPI") is not None:
        _downward(volume["downwardAPI"])
    if volume.get("hostPath") is not None:
        _set(volume["hostPath"], type="")
    for source in (volume.get("projected") or {}).get("sources") or ():
        if source.get("serviceAccountToken") is not None:
            _set(source["serviceAccountToken"], expirationSeconds=3600)
        if source.get("downwardAPI") is not None:
            _downward(source["downwardAPI"])
    claim = ((volume.get("ephemeral") or {}).get("volumeClaimTemplate") or {}).get("spec")
    if claim is not None:
        _set(claim, volumeMode="Filesystem")


def pod_spec(spec: Document) -> None:
    """Set the defaults of a pod spec, in a pod or in a template."""
    _set(
        spec,
        dnsPolicy="ClusterFirst",
        restartPolicy="Always",
        securityContext={},
        terminationGracePeriodSeconds=30,
        schedulerName="default-scheduler",
    )
    if spec.get("serviceAccountName"):
        spec["serviceAccount"] = spec["serviceAccountName"]
    elif spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"]
    for name in ("initContainers", "containers", "ephemeralContainers"):
        _each(spec.get(name), _container)
    _each(spec.get("volumes"), _volume)


def _host_ports(container: Document) -> None:
    for port in container.get("ports") or ():
        _set(port, hostPort=port.get("containerPort"))


def _pod(document: Document) -> None:
    spec = document.setdefault("spec", {})
    for name in ("initContainers", "containers"):
        _each(spec.get(name), _requests)
    pod_spec(spec)
    if spec.get("hostNetwork"):
        for name in ("initContainers", "containers"):
            _each(spec.get(name), _host_ports)
    _set(spec, enableServiceLinks=True)


def _requests(container: Document) -> None:
    resources = container.get("resources") or {}
    limits = resources.get("limits")
    if limits:
        resources["requests"] = {**limits, **(resources.get("requests") or {})}


def _template(spec: Document) -> None:
    template = spec.get("template")
    if isinstance(template, dict) and isinstance(template.get("spec"), dict):
        pod_spec(template["spec"])


def _deployment(document: Document) -> None:
    spec = document["spec"]
    _set(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy = spec.setdefault("strategy", {})
    _set(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _set(strategy, rollingUpdate={})
        _set(strategy["rollingUpdate"], maxUnavailable="25%", maxSurge="25%")
    _template(spec)


TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"


def _daemon_set(document: Document) -> None:
    spec = document["spec"]
    _set(spec, revisionHistoryLimit=10)
    strategy = spec.setdefault("updateStrategy", {})
    _set(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _set(strategy, rollingUpdate={})
        _set(strategy["rollingUpdate"], maxUnavailable=1, maxSurge=0)
    elif strategy.get("rollingUpdate") is not None:
        _set(strategy["rollingUpdate"], maxUnavailable=0, maxSurge=0)
    _template(spec)
    # The annotation is a field of kube-apiserver's internal type, so that it is always there.
    annotations = document["metadata"].get("annotations") or {}
    document["metadata"]["annotations"] = {TEMPLATE_GENERATION: "0", **annotations}


def _stateful_set(document: Document) -> None:
    spec = document["spec"]
    _set(
        spec,
        replicas=1,
        revisionHistoryLimit=10,
        podManagementPolicy="OrderedReady",
        persistentVolumeClaimRetentionPolicy={},
    )
    _set(spec["persistentVolumeClaimRetentionPolicy"], whenDeleted="Retain", whenScaled="Retain")
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        _set(strategy, rollingUpdate={})
    if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        _set(strategy["rollingUpdate"], partition=0)
    _template(spec)


def _replica_set(document: Document) -> None:
    _set(document["spec"], replicas=1)
    _template(document["spec"])


def _replication_controller(document: Document) -> None:
    _replica_set(document)
    labels = ((document["spec"].get("template") or {}).get("metadata") or {}).get("labels")
    if labels and not document["metadata"].get("labels"):
        document["metadata"]["labels"] = dict(labels)


def _job_spec(spec: Document) -> None:
    if spec.get("completions") is None and spec.get("parallelism") is None:
        _set(spec, completions=1, parallelism=1)
    _set(
        spec,
        parallelism=1,
        backoffLimit=6,
        completionMode="NonIndexed",
        suspend=False,
        podReplacementPolicy="TerminatingOrFailed",
        manualSelector=False,
    )
    _template(spec)


def _job(document: Document) -> None:
    _job_spec(document["spec"])


def _cron_job(document: Document) -> None:
    spec = document["spec"]
    _set(
        spec,
        concurrencyPolicy="Allow",
        suspend=False,
        successfulJobsHistoryLimit=3,
        failedJobsHistoryLimit=1,
    )
    inner = (spec.get("jobTemplate") or {}).get("spec")
    if isinstance(inner, dict):
        _template(inner)


def _service(document: Document) -> None:
    spec = document["spec"]
    _set(spec, sessionAffinity="None", type="ClusterIP")
    spec["type"] = spec["type"] or "ClusterIP"
    affinity = spec["sessionAffinity"] = spec["sessionAffinity"] or "None"
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        config = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if config.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": 10800}}
    for port in spec.get("ports") or ():
        _port(port)
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    outside = spec["type"] == "ClusterIP" and bool(spec.get("externalIPs"))
    if spec["type"] in ("NodePort", "LoadBalancer") or outside:
        _set(spec, externalTrafficPolicy="Cluster")
    if spec["type"] in ("ClusterIP", "NodePort", "LoadBalancer"):
        _set(spec, internalTrafficPolicy="Cluster")
    if spec["type"] == "LoadBalancer":
        _set(spec, allocateLoadBalancerNodePorts=True)


def _endpoints(document: Document) -> None:
    for subset in document.get("subsets") or ():
        _each(subset.get("ports"), _port)


def _endpoint_slice(document: Document) -> None:
    for port in document.get("ports") or ():
        _set(port, name="", protocol="TCP")


def _volume_claim(document: Document) -> None:
    _set(document["spec"], volumeMode="Filesystem")
    document["status"] = {**(document.get("status") or {})}
    _set(document["status"], phase="Pending")


def _persistent_volume(document: Document) -> None:
    _set(document["spec"], persistentVolumeReclaimPolicy="Retain", volumeMode="Filesystem")
    document["status"] = {**(document.get("status") or {})}
    _set(document["status"], phase="Pending")
    host = document["spec"].get("hostPath")
    if host is not None:
        _set(host, type="")


def _node(document: Document) -> None:
    spec = document.get("spec") or {}
    if spec.get("podCIDR") and (spec.get("podCIDRs") or [None])[0] != spec["podCIDR"]:
        spec["podCIDRs"] = [spec["podCIDR"]]
    status = document.get("status") or {}
    if status.get("capacity") and not status.get("allocatable"):
        document["status"] = {**status, "allocatable": dict(status["capacity"])}


_RBAC = "rbac.authorization.k8s.io"


def _binding(document: Document) -> None:
    _set(document["roleRef"], apiGroup=_RBAC)
    document["roleRef"]["apiGroup"] = document["roleRef"]["apiGroup"] or _RBAC
    for subject in document.get("subjects") or ():
        if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = _RBAC


def _webhook(hook: Document) -> None:
    _set(
        hook,
        failurePolicy="Fail",
        matchPolicy="Equivalent",
        namespaceSelector={},
        objectSelector={},
        timeoutSeconds=10,
    )
    service = (hook.get("clientConfig") or {}).get("service")
    if service is not None:
        _set(service, port=443)
    for rule in hook.get("rules") or ():
        _set(rule, scope="*")


def _validating(document: Document) -> None:
    _each(document.get("webhooks"), _webhook)


def _mutating(document: Document) -> None:
    for hook in document.get("webhooks") or ():
        _webhook(hook)
        _set(hook, reinvocationPolicy="Never")


def _storage_class(document: Document) -> None:
    _set(document, reclaimPolicy="Delete", volumeBindingMode="Immediate")


def _priority_class(document: Document) -> None:
    _set(document, preemptionPolicy="PreemptLowerPriority")


def _csi_driver(document: Document) -> None:
    _set(
        document["spec"],
        attachRequired=True,
        podInfoOnMount=False,
        storageCapacity=False,
        fsGroupPolicy="ReadWriteOnceWithFSType",
        volumeLifecycleModes=["Persistent"],
        requiresRepublish=False,
        seLinuxMount=False,
    )


def _network_policy(document: Document) -> None:
    spec = document.get("spec") or {}
    for rule in (*(spec.get("ingress") or ()), *(spec.get("egress") or ())):
        _each(rule.get("ports"), _port)
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    document["spec"] = spec


def _definition(document: Document) -> None:
    spec = document["spec"]
    names = spec.setdefault("names", {})
    kind = names.get("kind", "")
    names["singular"] = names.get("singular") or kind.lower()
    if not names.get("listKind") and kind:
        names["listKind"] = f"{kind}List"
    _set(spec, conversion={"strategy": "None"})
    hook = (spec["conversion"].get("webhook") or {}).get("clientConfig") or {}
    if hook.get("service") is not None:
        _set(hook["service"], port=443)


def _default_pod_template(document: Document) -> None:
    """Set the defaults of a kind that has only those of its pod template."""
    template = document.get("template") or {}
    if isinstance(template.get("spec"), dict):
        pod_spec(template["spec"])


def _limit_range(document: Document) -> None:
    for limit in (document.get("spec") or {}).get("limits") or ():
        if limit.get("type") != "Container":
            continue
        default = {**(limit.get("max") or {}), **(limit.get("default") or {})}
        least = {**(limit.get("min") or {}), **default}
        request = {**least, **(limit.get("defaultRequest") or {})}
        for field, amounts in (("default", default), ("defaultRequest", request)):
            if amounts:
                limit[field] = amounts


def _ingress_class(document: Document) -> None:
    parameters = (document.get("spec") or {}).get("parameters")
    if parameters is not None:
        _set(parameters, scope="Cluster")


DEFAULTS: dict[str, Fill] = {
    "limitranges": _limit_range,
    "ingressclasses.networking.k8s.io": _ingress_class,
    "pods": _pod,
    "podtemplates": _default_pod_template,
    "replicationcontrollers": _replication_controller,
    "services": _service,
    "endpoints": _endpoints,
    "nodes": _node,
    "persistentvolumeclaims": _volume_claim,
    "persistentvolumes": _persistent_volume,
    "deployments.apps": _deployment,
    "daemonsets.apps": _daemon_set,
    "replicasets.apps": _replica_set,
    "statefulsets.apps": _stateful_set,
    "jobs.batch": _job,
    "cronjobs.batch": _cron_job,
    "endpointslices.discovery.k8s.io": _endpoint_slice,
    f"rolebindings.{_RBAC}": _binding,
    f"clusterrolebindings.{_RBAC}": _binding,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _validating,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _mutating,
    "storageclasses.storage.k8s.io": _storage_class,
    "csidrivers.storage.k8s.io": _csi_driver,
    "priorityclasses.scheduling.k8s.io": _priority_class,
    "networkpolicies.networking.k8s.io": _network_policy,
    "customresourcedefinitions.apiextensions.k8s.io": _definition,
    **DEVICE_DEFAULTS,
}
