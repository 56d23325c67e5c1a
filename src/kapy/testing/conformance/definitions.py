"""CRDs, and the contract roles of their kinds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from kapy.clusterctl.provider import ProviderType
from kapy.contract.errors import NoContract, NoVersion
from kapy.contract.fields import CURRENT, Version
from kapy.contract.resolve import resolve, version_priority
from kapy.kube.names import GroupKind
from kapy.kube.nested import value_at
from kapy.testing.conformance.errors import ConformanceError
from kapy.testing.conformance.files import Object

TEMPLATE: Final = "Template"
CONTRACTS: Final = tuple(f"cluster.x-k8s.io/{version.value}" for version in Version)
_LABEL: Final = "cluster.x-k8s.io/v"


@dataclass(frozen=True)
class Role:
    """The contract role of a kind, which a contract document describes.

    document: the page of the document. title: its title. suffix: the end of the kind's name. word:
    the prefix of the API group. type: the type of the providers that have the role.
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
    """The version of a CRD that core reads, the contract by which core reads it, and the version's
    schema.
    """

    contract: Version
    version: str
    schema: Any
    subresources: Any


@dataclass(frozen=True)
class Definition:
    """A CRD of a provider. role: the contract role of its kind, None if no document describes the
    kind.
    """

    object: Object
    group: str
    kind: str
    role: Role | None

    @property
    def main(self) -> str:
        """Return the kind of the CRD or, for a template, the kind that it is a template of."""
        return self.kind.removesuffix(TEMPLATE)

    @property
    def is_template(self) -> bool:
        """Return whether the kind of the CRD is a template."""
        return self.kind.endswith(TEMPLATE)

    @property
    def is_namespaced(self) -> bool:
        """Return whether objects of the kind are namespaced."""
        return bool(self.object.at("spec.scope") != "Cluster")

    @cached_property
    def contract_labels(self) -> dict[str, list[str]]:
        """Return the versions that the CRD's contract labels name, by label; an empty label names
        none.
        """
        labels = self.object.labels.items()
        return {key: value.split("_") for key, value in labels if value and key.startswith(_LABEL)}

    @cached_property
    def versions(self) -> dict[str, dict[str, Any]]:
        """The versions of the CRD by name."""
        result = ((item.get("name"), item) for item in self.object.items("spec.versions"))
        return {name: item for name, item in result if isinstance(name, str)}

    @cached_property
    def reading(self) -> Reading | None:
        """Return the contract and the version by which core reads objects of the CRD, None if no
        label names a readable version."""
        crd = {
            "metadata": {"name": self.object.name, "labels": self.object.labels},
            "spec": {"versions": list(self.versions.values())},
        }
        try:
            resolved = resolve(GroupKind(self.group, self.kind), crd)
        except (NoContract, NoVersion):
            return None
        return self._read(resolved.resource.version, resolved.contract)

    @property
    def readings(self) -> list[Reading]:
        """Return a reading for each contract that the CRD's labels name, the newest last."""
        result = []
        for contract in Version:
            named = self.contract_labels.get(f"cluster.x-k8s.io/{contract.value}", ())
            if there := [item for item in named if self.versions.get(item, {}).get("served")]:
                result.append(self._read(max(there, key=version_priority), contract))
        return result

    @property
    def readings_or_storage(self) -> Reading | None:
        """The contract and version by which core reads its objects; without a contract label, the
        storage version.

        IPAM providers need no contract label: only the provider itself reads its pools.
        """
        of_its_own = self.role is not None and self.role.type is ProviderType.IPAM
        return self.reading or (self.stored if of_its_own else None)

    @property
    def stored(self) -> Reading | None:
        """The storage version; None if there is none."""
        name = next(
            (name for name, version in self.versions.items() if version.get("storage")), None
        )
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
"""The fields by which the objects of a kind can fulfil a role, by the document of the role."""


def with_roles(definitions: Sequence[Definition]) -> list[Definition]:
    """Return CRDs, without roles for kinds that only have a matching name.

    A kind has a role by its name alone only if its objects can fulfil it: beside another kind of
    that role, a kind with neither a template nor a contract field is something else.
    """
    result = []
    for definition in definitions:
        rest = [
            item for item in definitions if item.role == definition.role and item is not definition
        ]
        others = [item for item in rest if not item.is_template and has_role(item, rest)]
        alone = definition.is_template or definition.role is None or not others
        keeps = alone or has_role(definition, definitions)
        result.append(
            definition
            if keeps
            else Definition(definition.object, definition.group, definition.kind, None)
        )
    return result


def has_role(candidate: Definition, definitions: Iterable[Definition]) -> bool:
    """Return whether a kind can fulfil its role, as a template or a contract field shows."""
    wanted = f"{candidate.kind}{TEMPLATE}"
    if any(
        (definition.group, definition.kind) == (candidate.group, wanted)
        for definition in definitions
    ):
        return True
    entries = _SHOWN.get(candidate.role.document, ()) if candidate.role else ()
    schemas = [
        value_at(version, ("schema", "openAPIV3Schema")) for version in candidate.versions.values()
    ]
    return not entries or any(
        field_at(schema, path) is not None for schema in schemas for path in entries
    )


def field_at(schema: Any, path: str) -> Any:
    """Return the schema of a field that a schema names; None if it names none."""
    names = [item for part in path.split(".") for item in ("properties", part)]
    return value_at(schema, tuple(names))


def definition_of(crd: Object, provider: ProviderType | None) -> Definition:
    """Return the definition of a CRD with its role. Raises ConformanceError if the CRD has no group
    or kind.
    """
    group, kind = crd.at("spec.group"), crd.at("spec.names.kind")
    if not (group and isinstance(group, str) and kind and isinstance(kind, str)):
        raise ConformanceError(
            f"{crd.file}: {crd.called} has no spec.group and spec.names.kind, so that nobody knows "
            "what it defines; write them as controller-gen does"
        )
    definition = Definition(crd, group, kind, None)
    role = next((role for role in ROLES if _has(definition, role, provider)), None)
    return Definition(crd, group, kind, role)


def _has(definition: Definition, role: Role, provider: ProviderType | None) -> bool:
    """Return whether a kind has a role.

    In an API group with the role's prefix, the name is sufficient. In other groups the CRD must
    declare a contract, too, and the provider must be of that type. Single machines of a pool
    (`…PoolMachine`) are machines, but are never created from a template.
    """
    main = definition.main
    if not main.endswith(role.suffix) or main.endswith("PoolMachine"):
        return False
    if role.type is ProviderType.IPAM:
        return provider is ProviderType.IPAM
    if definition.group.partition(".")[0] == role.word:
        return True
    return provider is role.type and any(
        contract in definition.contract_labels for contract in CONTRACTS
    )
