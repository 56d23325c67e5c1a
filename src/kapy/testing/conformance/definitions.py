"""CRDs, and the part that a contract gives to their kinds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from kapy.clusterctl.provider import ProviderType
from kapy.contract.errors import NoContract, NoVersion
from kapy.contract.fields import CURRENT, Version
from kapy.contract.resolve import resolved
from kapy.kube.names import GroupKind
from kapy.kube.nested import value_at
from kapy.testing.conformance.errors import ConformanceError
from kapy.testing.conformance.files import Object

TEMPLATE: Final = "Template"
CONTRACTS: Final = tuple(f"cluster.x-k8s.io/{one.value}" for one in Version)
_LABEL: Final = "cluster.x-k8s.io/v"


@dataclass(frozen=True)
class Role:
    """A part that a contract document describes.

    document: its page. suffix: how kinds are called that have it. word: how their API group begins.
    type: of the providers that have it.
    """

    document: str
    title: str
    suffix: str
    word: str
    type: ProviderType


ROLES: Final = (
    Role("infra-cluster", "InfraCluster", "Cluster", "infrastructure", ProviderType.INFRASTRUCTURE),
    Role("infra-machine", "InfraMachine", "Machine", "infrastructure", ProviderType.INFRASTRUCTURE),
    Role(
        "infra-machinepool",
        "InfraMachinePool",
        "MachinePool",
        "infrastructure",
        ProviderType.INFRASTRUCTURE,
    ),
    Role("bootstrap-config", "BootstrapConfig", "Config", "bootstrap", ProviderType.BOOTSTRAP),
    Role(
        "control-plane", "ControlPlane", "ControlPlane", "controlplane", ProviderType.CONTROL_PLANE
    ),
    Role("ipam", "IP pool", "Pool", "ipam", ProviderType.IPAM),
)


@dataclass(frozen=True)
class Reading:
    """The version of a CRD that core reads, by which contract, and its schema."""

    contract: Version
    version: str
    schema: Any
    subresources: Any


@dataclass(frozen=True)
class Definition:
    """A CRD. role: None where no document describes its kind."""

    object: Object
    group: str
    kind: str
    role: Role | None

    @property
    def main(self) -> str:
        """The kind, of a template that which it is a template of."""
        return self.kind.removesuffix(TEMPLATE)

    @property
    def is_template(self) -> bool:
        """Whether its kind is a template."""
        return self.kind.endswith(TEMPLATE)

    @property
    def is_namespaced(self) -> bool:
        """Its scope."""
        return bool(self.object.at("spec.scope") != "Cluster")

    @cached_property
    def contract_labels(self) -> dict[str, list[str]]:
        """The versions that its labels name, by label; an empty label is none."""
        labels = self.object.labels.items()
        return {key: value.split("_") for key, value in labels if value and key.startswith(_LABEL)}

    @cached_property
    def versions(self) -> dict[str, dict[str, Any]]:
        """Its versions by name."""
        found = ((one.get("name"), one) for one in self.object.items("spec.versions"))
        return {name: one for name, one in found if isinstance(name, str)}

    @cached_property
    def reading(self) -> Reading | None:
        """How core reads its objects; None where the labels name nothing that can be read."""
        crd = {
            "metadata": {"name": self.object.name, "labels": self.object.labels},
            "spec": {"versions": list(self.versions.values())},
        }
        try:
            found = resolved(GroupKind(self.group, self.kind), crd)
        except (NoContract, NoVersion):
            return None
        return self._read(found.resource.version, found.contract)

    @property
    def stored(self) -> Reading | None:
        """The version that is stored; None where none is."""
        name = next((name for name, one in self.versions.items() if one.get("storage")), None)
        return self._read(name, CURRENT) if name is not None else None

    def _read(self, name: str, contract: Version) -> Reading:
        version = self.versions[name]
        schema = value_at(version, ("schema", "openAPIV3Schema"))
        subresources = version.get("subresources")
        return Reading(contract, name, schema if isinstance(schema, dict) else {}, subresources)


def definition_of(one: Object, provider: ProviderType | None) -> Definition:
    """A CRD's role. Raises ConformanceError where it does not say what it defines."""
    group, kind = one.at("spec.group"), one.at("spec.names.kind")
    if not (group and isinstance(group, str) and kind and isinstance(kind, str)):
        raise ConformanceError(
            f"{one.file}: {one.called} has no spec.group and spec.names.kind, so that nobody knows "
            "what it defines; write them as controller-gen does"
        )
    definition = Definition(one, group, kind, None)
    role = next((role for role in ROLES if _has(definition, role, provider)), None)
    return Definition(one, group, kind, role)


def _has(definition: Definition, role: Role, provider: ProviderType | None) -> bool:
    """Whether a kind has a role.

    Kinds of an API group that begins with the role's word have it by their name alone; in other
    groups the CRD must declare a contract, too, and the provider be of that type. Single machines
    of a pool (`…PoolMachine`) are machines, but nobody makes them of a template.
    """
    main = definition.main
    if not main.endswith(role.suffix) or main.endswith("PoolMachine"):
        return False
    if role.type is ProviderType.IPAM:
        return provider is ProviderType.IPAM
    if definition.group.partition(".")[0] == role.word:
        return True
    return provider is role.type and any(one in definition.contract_labels for one in CONTRACTS)
