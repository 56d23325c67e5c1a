"""Fields that break their contract, and what the owner's condition then says."""

from __future__ import annotations

from typing import Final, NamedTuple

from kapy.kube import Document
from kapy.kube.names import Resource
from tests.core.environment import CONFIGS, CONTROL_PLANES, INFRA_CLUSTERS, INFRA_MACHINES


class Break(NamedTuple):
    """Fields that a provider writes in breach of a contract.

    said: the message of the owner's condition after `<kind> <name> breaks the <contract> contract
    v1beta2: `.
    """

    resource: Resource
    spec: Document
    status: Document
    said: str


DONE: Final = {"provisioned": True}
GOOD: Final = {"initialization": DONE}
OF_CLUSTERS: Final = [
    Break(
        INFRA_CLUSTERS,
        {},
        {"initialization": "yes"},
        ".status.initialization: expected an object, got string",
    ),
    Break(
        INFRA_CLUSTERS,
        {},
        {"initialization": {"provisioned": "yes"}},
        ".status.initialization.provisioned: expected a boolean, got string",
    ),
    Break(
        INFRA_CLUSTERS,
        {"controlPlaneEndpoint": "1.2.3.4:6443"},
        GOOD,
        ".spec.controlPlaneEndpoint: expected an object, got string",
    ),
    Break(
        INFRA_CLUSTERS,
        {"controlPlaneEndpoint": {"host": "h", "port": "6443"}},
        GOOD,
        ".spec.controlPlaneEndpoint: Expected `int`, got `str` - at `$.port`",
    ),
    Break(
        INFRA_CLUSTERS,
        {"controlPlaneEndpoint": {"host": "h", "port": 70000}},
        GOOD,
        ".spec.controlPlaneEndpoint: port: must be at most 65535, is 70000",
    ),
    Break(
        INFRA_CLUSTERS,
        {},
        {**GOOD, "failureDomains": {"a": {}}},
        ".status.failureDomains: expected a list, got object",
    ),
    Break(
        INFRA_CLUSTERS,
        {},
        {**GOOD, "failureDomains": [{"controlPlane": True}]},
        ".status.failureDomains: Object missing required field `name`",
    ),
    Break(
        INFRA_CLUSTERS,
        {},
        {**GOOD, "failureDomains": [{"name": "a"}, {"name": "a"}]},
        '.status.failureDomains: the name "a" is there twice',
    ),
    Break(
        INFRA_CLUSTERS,
        {},
        {**GOOD, "failureDomains": [{"name": "a" * 257}]},
        ".status.failureDomains: name: must not be longer than 256 characters, has 257",
    ),
    Break(
        INFRA_CLUSTERS,
        {},
        {**GOOD, "failureReason": 7},
        ".status.failureReason: expected a string, got integer",
    ),
    Break(
        CONTROL_PLANES,
        {},
        {"initialization": {"controlPlaneInitialized": "soon"}},
        ".status.initialization.controlPlaneInitialized: expected a boolean, got string",
    ),
    Break(
        CONTROL_PLANES,
        {"controlPlaneEndpoint": []},
        {"initialization": {"controlPlaneInitialized": True}},
        ".spec.controlPlaneEndpoint: expected an object, got list",
    ),
    Break(
        CONTROL_PLANES,
        {},
        {"readyReplicas": "three"},
        ".status.readyReplicas: expected an integer, got string",
    ),
    Break(
        CONTROL_PLANES,
        {"replicas": 2**40},
        {},
        ".spec.replicas: 1099511627776 is no int32",
    ),
    Break(
        CONTROL_PLANES,
        {},
        {"versions": [{"replicas": 1}]},
        ".status.versions: Object missing required field `version`",
    ),
]
OF_MACHINES: Final = [
    Break(
        INFRA_MACHINES,
        {},
        {"initialization": []},
        ".status.initialization: expected an object, got list",
    ),
    Break(
        INFRA_MACHINES, {"providerID": 7}, GOOD, ".spec.providerID: expected a string, got integer"
    ),
    Break(
        INFRA_MACHINES,
        {"providerID": "x" * 513},
        GOOD,
        ".spec.providerID: must not be longer than 512 characters, has 513",
    ),
    Break(
        INFRA_MACHINES,
        {"providerID": "a://1"},
        {**GOOD, "addresses": "10.0.0.1"},
        ".status.addresses: expected a list, got string",
    ),
    Break(
        INFRA_MACHINES,
        {"providerID": "a://2"},
        {**GOOD, "addresses": [{"type": "Phone", "address": "1"}]},
        '.status.addresses: type: "Phone" is none of Hostname, ExternalIP, InternalIP, '
        "ExternalDNS, InternalDNS",
    ),
    Break(
        INFRA_MACHINES,
        {"providerID": "a://3"},
        {**GOOD, "addresses": [{"type": "Hostname", "address": ""}]},
        ".status.addresses: address: must not be empty",
    ),
    Break(
        INFRA_MACHINES,
        {"providerID": "a://4"},
        {**GOOD, "failureDomain": {"name": "a"}},
        ".status.failureDomain: expected a string, got object",
    ),
    Break(
        INFRA_MACHINES,
        {"providerID": "a://5", "failureDomain": 3},
        GOOD,
        ".spec.failureDomain: expected a string, got integer",
    ),
    Break(
        INFRA_MACHINES,
        {"providerID": "a://6"},
        {**GOOD, "failureMessage": []},
        ".status.failureMessage: expected a string, got list",
    ),
    Break(
        INFRA_MACHINES,
        {},
        {"interruptible": "often"},
        ".status.interruptible: expected a boolean, got string",
    ),
    Break(
        CONFIGS,
        {},
        {"failureReason": True},
        ".status.failureReason: expected a string, got boolean",
    ),
    Break(
        CONFIGS,
        {},
        {"initialization": {"dataSecretCreated": 1}},
        ".status.initialization.dataSecretCreated: expected a boolean, got integer",
    ),
    Break(
        CONFIGS,
        {},
        {"initialization": {"dataSecretCreated": True}},
        ".status.dataSecretName: mandatory field is not set",
    ),
    Break(
        CONFIGS,
        {},
        {"initialization": {"dataSecretCreated": True}, "dataSecretName": ""},
        ".status.dataSecretName: is empty",
    ),
    Break(
        CONFIGS,
        {},
        {"initialization": {"dataSecretCreated": True}, "dataSecretName": ["s"]},
        ".status.dataSecretName: expected a string, got list",
    ),
]
CONTRACTS: Final = {
    INFRA_CLUSTERS: ("InfraCluster", "InfrastructureReady"),
    CONTROL_PLANES: ("ControlPlane", "ControlPlaneAvailable"),
    INFRA_MACHINES: ("InfraMachine", "InfrastructureReady"),
    CONFIGS: ("BootstrapConfig", "BootstrapConfigReady"),
}
