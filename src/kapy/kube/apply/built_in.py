"""Merge types of Kubernetes' own kinds, where they differ from what the values say by themselves.

Structures that are not spelled out are taken as declared ones, and lists as atomic; so only maps,
lists that merge, and structures that are one field need to stand here. The facts come from the
`x-kubernetes-list-type`, `-list-map-keys` and `-map-type` markers of Kubernetes' API types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kapy.kube.apply.types import (
    ATOMIC,
    DEDUCED,
    NAMED,
    OBJECT_META,
    STRING_MAP,
    STRING_SET,
    UNTYPED,
    ListType,
    MapType,
    Type,
)


def _struct(**members: Type) -> MapType:
    return MapType(members, NAMED, named=True)


def _listed(element: Type, *keys: str, **defaults: Any) -> ListType:
    return ListType(element, keys, defaults)


def _by_type(**members: Type) -> ListType:
    return _listed(_struct(**members), "type")


_QUANTITIES: Final = MapType({}, UNTYPED)
_LABEL_SELECTOR: Final = ATOMIC
_CONDITIONS: Final = _by_type()

_RESOURCES: Final = _struct(
    limits=_QUANTITIES, requests=_QUANTITIES, claims=_listed(_struct(), "name")
)
_ENV: Final = _listed(
    _struct(
        valueFrom=_struct(
            fieldRef=ATOMIC, resourceFieldRef=ATOMIC, configMapKeyRef=ATOMIC, secretKeyRef=ATOMIC
        )
    ),
    "name",
)
_CONTAINERS: Final = _listed(
    _struct(
        env=_ENV,
        ports=_listed(_struct(), "containerPort", "protocol", protocol="TCP"),
        resources=_RESOURCES,
        volumeMounts=_listed(_struct(), "mountPath"),
        volumeDevices=_listed(_struct(), "devicePath"),
    ),
    "name",
)
_VOLUMES: Final = _listed(
    _struct(
        awsElasticBlockStore=_struct(),
        csi=_struct(volumeAttributes=STRING_MAP, nodePublishSecretRef=ATOMIC),
        ephemeral=_struct(
            volumeClaimTemplate=_struct(
                metadata=OBJECT_META, spec=_struct(resources=_RESOURCES, selector=ATOMIC)
            )
        ),
        flexVolume=_struct(options=STRING_MAP, secretRef=ATOMIC),
    ),
    "name",
)
_POD_SPEC: Final = _struct(
    affinity=_struct(
        nodeAffinity=_struct(requiredDuringSchedulingIgnoredDuringExecution=ATOMIC),
    ),
    containers=_CONTAINERS,
    ephemeralContainers=_CONTAINERS,
    hostAliases=_listed(_struct(), "ip"),
    imagePullSecrets=_listed(ATOMIC, "name"),
    initContainers=_CONTAINERS,
    nodeSelector=MapType({}, UNTYPED, atomic=True),
    overhead=_QUANTITIES,
    resourceClaims=_listed(_struct(), "name"),
    resources=_RESOURCES,
    schedulingGates=_listed(_struct(), "name"),
    topologySpreadConstraints=_listed(
        _struct(labelSelector=_LABEL_SELECTOR), "topologyKey", "whenUnsatisfiable"
    ),
    volumes=_VOLUMES,
)
_POD_TEMPLATE: Final = _struct(
    metadata=MapType({**OBJECT_META.members}, NAMED, named=True), spec=_POD_SPEC
)
_WORKLOAD: Final = _struct(selector=_LABEL_SELECTOR, template=_POD_TEMPLATE)
_WORKLOAD_STATUS: Final = _struct(conditions=_CONDITIONS)
_CLAIM_SPEC: Final = _struct(
    dataSource=ATOMIC, dataSourceRef=NAMED, resources=_RESOURCES, selector=_LABEL_SELECTOR
)
_CLAIM: Final[Mapping[str, Type]] = {
    "spec": _CLAIM_SPEC,
    "status": _struct(capacity=_QUANTITIES, conditions=_CONDITIONS),
}
_WEBHOOKS: Final = _listed(
    _struct(
        matchConditions=_listed(_struct(), "name"),
        namespaceSelector=_LABEL_SELECTOR,
        objectSelector=_LABEL_SELECTOR,
    ),
    "name",
)

KINDS: Final[Mapping[tuple[str, str], Mapping[str, Type]]] = {
    ("", "ConfigMap"): {"data": STRING_MAP, "binaryData": STRING_MAP},
    ("", "Secret"): {"data": STRING_MAP, "stringData": STRING_MAP},
    ("", "Namespace"): {"status": _struct(conditions=_CONDITIONS)},
    ("", "Node"): {
        "spec": _struct(podCIDRs=STRING_SET, configSource=_struct()),
        "status": _struct(
            addresses=_by_type(),
            allocatable=_QUANTITIES,
            capacity=_QUANTITIES,
            conditions=_CONDITIONS,
        ),
    },
    ("", "Pod"): {
        "spec": _POD_SPEC,
        "status": _struct(
            conditions=_CONDITIONS,
            hostIPs=ListType(NAMED),
            podIPs=_listed(_struct(), "ip"),
            resourceClaimStatuses=_listed(_struct(), "name"),
        ),
    },
    ("", "PodTemplate"): {"template": _POD_TEMPLATE},
    ("", "ReplicationController"): {
        "spec": _struct(selector=MapType({}, UNTYPED, atomic=True), template=_POD_TEMPLATE),
        "status": _WORKLOAD_STATUS,
    },
    ("", "Service"): {
        "spec": _struct(
            ports=_listed(_struct(), "port", "protocol", protocol="TCP"),
            selector=MapType({}, UNTYPED, atomic=True),
        ),
        "status": _struct(conditions=_CONDITIONS),
    },
    ("", "ServiceAccount"): {
        "imagePullSecrets": ListType(ATOMIC),
        "secrets": _listed(ATOMIC, "name"),
    },
    ("", "Event"): {"involvedObject": ATOMIC, "related": ATOMIC},
    ("", "Endpoints"): {"subsets": ListType(NAMED)},
    ("", "PersistentVolume"): {
        "spec": _struct(
            capacity=_QUANTITIES,
            claimRef=MapType({}, NAMED, named=True),
            csi=_struct(volumeAttributes=STRING_MAP),
            nodeAffinity=_struct(required=ATOMIC),
        )
    },
    ("", "PersistentVolumeClaim"): _CLAIM,
    ("", "ResourceQuota"): {
        "spec": _struct(hard=_QUANTITIES),
        "status": _struct(hard=_QUANTITIES, used=_QUANTITIES),
    },
    ("apps", "Deployment"): {"spec": _WORKLOAD, "status": _WORKLOAD_STATUS},
    ("apps", "DaemonSet"): {"spec": _WORKLOAD, "status": _WORKLOAD_STATUS},
    ("apps", "ReplicaSet"): {"spec": _WORKLOAD, "status": _WORKLOAD_STATUS},
    ("apps", "StatefulSet"): {"spec": _WORKLOAD, "status": _WORKLOAD_STATUS},
    ("apps", "ControllerRevision"): {"data": DEDUCED},
    ("batch", "Job"): {"spec": _WORKLOAD, "status": _struct(conditions=ListType(NAMED))},
    ("batch", "CronJob"): {"spec": _struct(jobTemplate=_struct(spec=_WORKLOAD))},
    ("policy", "PodDisruptionBudget"): {
        "spec": _struct(selector=_LABEL_SELECTOR),
        "status": _struct(conditions=_CONDITIONS, disruptedPods=MapType({}, UNTYPED)),
    },
    ("rbac.authorization.k8s.io", "ClusterRole"): {},
    ("rbac.authorization.k8s.io", "Role"): {},
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): {"roleRef": ATOMIC},
    ("rbac.authorization.k8s.io", "RoleBinding"): {"roleRef": ATOMIC},
    ("storage.k8s.io", "StorageClass"): {"parameters": STRING_MAP},
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): {"webhooks": _WEBHOOKS},
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): {"webhooks": _WEBHOOKS},
    ("apiextensions.k8s.io", "CustomResourceDefinition"): {
        "status": _struct(conditions=_CONDITIONS)
    },
    ("apiregistration.k8s.io", "APIService"): {"status": _struct(conditions=_CONDITIONS)},
}
"""By group and kind: the types of the top-level fields that have something to say."""
