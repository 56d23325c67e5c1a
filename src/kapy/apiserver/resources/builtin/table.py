"""The built-in resources that management clusters, workload clusters and kubectl need."""

from __future__ import annotations

from typing import NamedTuple

from kapy.apiserver.resources.kind import ALL_VERBS, CREATE_ONLY

Path = tuple[str, ...]


class Row(NamedTuple):
    """A built-in resource and its properties.

    flags: letters: `g` if metadata.generation is maintained, `s` if status is a subresource.
    deprecation: the warning that each response contains, "" for none.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    short: tuple[str, ...] = ()
    flags: str = ""
    subresources: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    selectable: tuple[tuple[str, Path], ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    stored_group: str | None = None
    deprecation: str = ""


def _paths(*labels: str) -> tuple[tuple[str, Path], ...]:
    return tuple((label, tuple(label.split("."))) for label in labels)


_STATUS = ("status",)
_SCALED = ("status", "scale")
_ALL = ("all",)

_EVENT_FIELDS = (
    *_paths(
        *(
            f"involvedObject.{item}"
            for item in (
                "kind",
                "namespace",
                "name",
                "uid",
                "apiVersion",
                "resourceVersion",
                "fieldPath",
            )
        ),
        "reason",
        "reportingComponent",
        "type",
    ),
    ("source", ("source", "component")),
)
_NEW_EVENT_FIELDS = (
    *(
        (f"regarding.{path[1]}", path)
        for label, path in _EVENT_FIELDS
        if len(path) == 2 and label != "source"
    ),
    *_paths("reason", "type"),
    ("reportingController", ("reportingComponent",)),
)
_POD_FIELDS = _paths(
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
)

_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"
_DEVICES = "resource.k8s.io"
_STORAGE = "storage.k8s.io"
_AUTHORIZATION = "authorization.k8s.io"
_AUTHENTICATION = "authentication.k8s.io"

ROWS: tuple[Row, ...] = (
    Row("", "v1", "configmaps", "ConfigMap", short=("cm",)),
    Row(
        "",
        "v1",
        "endpoints",
        "Endpoints",
        short=("ep",),
        deprecation="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    ),
    Row("", "v1", "events", "Event", short=("ev",), selectable=_EVENT_FIELDS),
    Row("", "v1", "limitranges", "LimitRange", short=("limits",)),
    Row(
        "",
        "v1",
        "namespaces",
        "Namespace",
        namespaced=False,
        short=("ns",),
        flags="s",
        subresources=("status", "finalize"),
        selectable=_paths("status.phase"),
        verbs=tuple(verb for verb in ALL_VERBS if verb != "deletecollection"),
    ),
    Row(
        "",
        "v1",
        "nodes",
        "Node",
        namespaced=False,
        short=("no",),
        flags="s",
        subresources=_STATUS,
        selectable=_paths("spec.unschedulable"),
    ),
    Row(
        "",
        "v1",
        "persistentvolumeclaims",
        "PersistentVolumeClaim",
        short=("pvc",),
        flags="s",
        subresources=_STATUS,
    ),
    Row(
        "",
        "v1",
        "persistentvolumes",
        "PersistentVolume",
        namespaced=False,
        short=("pv",),
        flags="s",
        subresources=_STATUS,
    ),
    Row(
        "",
        "v1",
        "pods",
        "Pod",
        short=("po",),
        flags="gs",
        categories=_ALL,
        subresources=("status", "eviction"),
        selectable=_POD_FIELDS,
    ),
    Row("", "v1", "podtemplates", "PodTemplate", flags="g"),
    Row(
        "",
        "v1",
        "replicationcontrollers",
        "ReplicationController",
        short=("rc",),
        flags="gs",
        categories=_ALL,
        subresources=_SCALED,
        selectable=_paths("status.replicas"),
    ),
    Row(
        "",
        "v1",
        "resourcequotas",
        "ResourceQuota",
        short=("quota",),
        flags="s",
        subresources=_STATUS,
    ),
    Row("", "v1", "secrets", "Secret", selectable=_paths("type")),
    Row("", "v1", "serviceaccounts", "ServiceAccount", short=("sa",), subresources=("token",)),
    Row(
        "",
        "v1",
        "services",
        "Service",
        short=("svc",),
        flags="s",
        categories=_ALL,
        subresources=_STATUS,
        selectable=_paths("spec.clusterIP", "spec.type"),
    ),
    Row("apps", "v1", "controllerrevisions", "ControllerRevision"),
    Row(
        "apps",
        "v1",
        "daemonsets",
        "DaemonSet",
        short=("ds",),
        flags="gs",
        categories=_ALL,
        subresources=_STATUS,
    ),
    Row(
        "apps",
        "v1",
        "deployments",
        "Deployment",
        short=("deploy",),
        flags="gs",
        categories=_ALL,
        subresources=_SCALED,
    ),
    Row(
        "apps",
        "v1",
        "replicasets",
        "ReplicaSet",
        short=("rs",),
        flags="gs",
        categories=_ALL,
        subresources=_SCALED,
        selectable=_paths("status.replicas"),
    ),
    Row(
        "apps",
        "v1",
        "statefulsets",
        "StatefulSet",
        short=("sts",),
        flags="gs",
        categories=_ALL,
        subresources=_SCALED,
    ),
    Row(
        "batch",
        "v1",
        "cronjobs",
        "CronJob",
        short=("cj",),
        flags="gs",
        categories=_ALL,
        subresources=_STATUS,
    ),
    Row(
        "batch",
        "v1",
        "jobs",
        "Job",
        flags="gs",
        categories=_ALL,
        subresources=_STATUS,
        selectable=_paths("status.successful"),
    ),
    Row(
        "autoscaling",
        "v2",
        "horizontalpodautoscalers",
        "HorizontalPodAutoscaler",
        short=("hpa",),
        flags="s",
        categories=_ALL,
        subresources=_STATUS,
    ),
    Row(
        "policy",
        "v1",
        "poddisruptionbudgets",
        "PodDisruptionBudget",
        short=("pdb",),
        flags="gs",
        subresources=_STATUS,
    ),
    Row("coordination.k8s.io", "v1", "leases", "Lease"),
    Row("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", flags="g"),
    Row(
        "events.k8s.io",
        "v1",
        "events",
        "Event",
        short=("ev",),
        selectable=_NEW_EVENT_FIELDS,
        stored_group="",
    ),
    Row(
        "networking.k8s.io",
        "v1",
        "ingresses",
        "Ingress",
        short=("ing",),
        flags="gs",
        subresources=_STATUS,
    ),
    Row("networking.k8s.io", "v1", "ingressclasses", "IngressClass", namespaced=False, flags="g"),
    Row(
        "networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", short=("netpol",), flags="g"
    ),
    Row("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", namespaced=False),
    Row(_RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False),
    Row(_RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False),
    Row(_RBAC, "v1", "rolebindings", "RoleBinding"),
    Row(_RBAC, "v1", "roles", "Role"),
    Row(_DEVICES, "v1", "deviceclasses", "DeviceClass", namespaced=False, flags="g"),
    Row(
        _DEVICES,
        "v1",
        "resourceclaims",
        "ResourceClaim",
        flags="s",
        subresources=_STATUS,
    ),
    Row(_DEVICES, "v1", "resourceclaimtemplates", "ResourceClaimTemplate"),
    Row(
        _DEVICES,
        "v1",
        "resourceslices",
        "ResourceSlice",
        namespaced=False,
        flags="g",
        selectable=_paths("spec.nodeName", "spec.driver"),
    ),
    Row(
        "scheduling.k8s.io",
        "v1",
        "priorityclasses",
        "PriorityClass",
        namespaced=False,
        short=("pc",),
        flags="g",
    ),
    Row(_STORAGE, "v1", "csidrivers", "CSIDriver", namespaced=False),
    Row(_STORAGE, "v1", "csinodes", "CSINode", namespaced=False),
    Row(_STORAGE, "v1", "csistoragecapacities", "CSIStorageCapacity"),
    Row(_STORAGE, "v1", "storageclasses", "StorageClass", namespaced=False, short=("sc",)),
    Row(
        _STORAGE,
        "v1",
        "volumeattachments",
        "VolumeAttachment",
        namespaced=False,
        flags="s",
        subresources=_STATUS,
    ),
    Row(
        _ADMISSION,
        "v1",
        "mutatingwebhookconfigurations",
        "MutatingWebhookConfiguration",
        namespaced=False,
        flags="g",
        categories=("api-extensions",),
    ),
    Row(
        _ADMISSION,
        "v1",
        "validatingwebhookconfigurations",
        "ValidatingWebhookConfiguration",
        namespaced=False,
        flags="g",
        categories=("api-extensions",),
    ),
    Row(
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        namespaced=False,
        short=("crd", "crds"),
        flags="gs",
        subresources=_STATUS,
        categories=("api-extensions",),
    ),
    Row(_AUTHENTICATION, "v1", "tokenreviews", "TokenReview", namespaced=False, verbs=CREATE_ONLY),
    Row(
        _AUTHENTICATION,
        "v1",
        "selfsubjectreviews",
        "SelfSubjectReview",
        namespaced=False,
        verbs=CREATE_ONLY,
    ),
    Row(
        _AUTHORIZATION,
        "v1",
        "localsubjectaccessreviews",
        "LocalSubjectAccessReview",
        verbs=CREATE_ONLY,
    ),
    Row(
        _AUTHORIZATION,
        "v1",
        "selfsubjectaccessreviews",
        "SelfSubjectAccessReview",
        namespaced=False,
        verbs=CREATE_ONLY,
    ),
    Row(
        _AUTHORIZATION,
        "v1",
        "selfsubjectrulesreviews",
        "SelfSubjectRulesReview",
        namespaced=False,
        verbs=CREATE_ONLY,
    ),
    Row(
        _AUTHORIZATION,
        "v1",
        "subjectaccessreviews",
        "SubjectAccessReview",
        namespaced=False,
        verbs=CREATE_ONLY,
    ),
)
