"""CRDs, and the part that a contract gives to their kinds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from kapy.clusterctl.provider import ProviderType
from kapy.contract.errors import NoContract, NoVersion
from kapy.contract.fields import CURRENT, Version
from kapy.contract.resolve import resolved, version_priority
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


_FLAGS: Final = ("status.initialization",)


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
    def readings(self) -> list[Reading]:
        """How its objects are read by each contract that its labels name; the newest one last."""
        found = []
        for contract in Version:
            named = self.contract_labels.get(f"cluster.x-k8s.io/{contract.value}", ())
            if there := [one for one in named if self.versions.get(one, {}).get("served")]:
                found.append(self._read(max(there, key=version_priority), contract))
        return found

    @property
    def read(self) -> Reading | None:
        """How core or, where no label tells, everybody reads its objects.

        No contract label is asked of IPAM providers: their pools are read by nobody but themselves.
        """
        of_its_own = self.role is not None and self.role.type is ProviderType.IPAM
        return self.reading or (self.stored if of_its_own else None)

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


_SHOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "infra-cluster": ("spec.controlPlaneEndpoint", *_FLAGS, "status.ready"),
    "infra-machine": ("spec.providerID", *_FLAGS, "status.ready"),
    "infra-machinepool": ("spec.providerIDList", *_FLAGS, "status.ready"),
    "bootstrap-config": ("status.dataSecretName", *_FLAGS, "status.ready"),
    "control-plane": ("status.initialized", *_FLAGS, "status.ready"),
}
"""Fields by which objects of a kind have a part in a cluster, by the document of the part."""


def with_parts(definitions: Sequence[Definition]) -> list[Definition]:
    """CRDs, without roles for those that are only called as others which have the role.

    A kind has a part by its name alone only if its objects can play it: who has neither a template
    nor any of the fields that core reads, beside another kind that has them, is something else.
    """
    found = []
    for one in definitions:
        rest = [each for each in definitions if each.role == one.role and each is not one]
        others = [each for each in rest if not each.is_template and plays(each, rest)]
        alone = one.is_template or one.role is None or not others
        keeps = alone or plays(one, definitions)
        found.append(one if keeps else Definition(one.object, one.group, one.kind, None))
    return found


def plays(one: Definition, definitions: Iterable[Definition]) -> bool:
    """Whether objects of a kind can have a part: a template or a field of the contract shows it."""
    wanted = f"{one.kind}{TEMPLATE}"
    if any((each.group, each.kind) == (one.group, wanted) for each in definitions):
        return True
    shown = _SHOWN.get(one.role.document, ()) if one.role else ()
    schemas = [value_at(each, ("schema", "openAPIV3Schema")) for each in one.versions.values()]
    return not shown or any(
        field_at(schema, path) is not None for schema in schemas for path in shown
    )


def field_at(schema: Any, path: str) -> Any:
    """The schema of a field that a schema names; None where it names none."""
    names = [each for part in path.split(".") for each in ("properties", part)]
    return value_at(schema, tuple(names))


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
