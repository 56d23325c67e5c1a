"""The only access of core to provider objects.

There is one table per contract: `InfraCluster`, `InfraMachine`, `InfraMachinePool`,
`BootstrapConfig`, `ControlPlane` and their templates. A table is a view of a document; it knows
both contract versions. `External` reads the documents.
"""

from kapy.contract.bootstrap import BootstrapConfig
from kapy.contract.control_plane import ControlPlane
from kapy.contract.errors import (
    BrokenDefinition,
    ContractError,
    FieldProblem,
    MissingField,
    NoContract,
    NotPermitted,
    NotServed,
    NoVersion,
    WrongType,
)
from kapy.contract.external import External, Reference, owner_keys
from kapy.contract.failure_domains import pick_fewest, pick_most
from kapy.contract.fields import CURRENT, Field, Version, View, fields_of
from kapy.contract.infra_cluster import InfraCluster
from kapy.contract.infra_machine import InfraMachine
from kapy.contract.infra_machine_pool import InfraMachinePool
from kapy.contract.observed import Absent, Found, Observed, Unreadable, contract_violation
from kapy.contract.resolve import Resolved, crd_name, resolve, version_priority
from kapy.contract.templates import (
    BootstrapConfigTemplate,
    ControlPlaneTemplate,
    InfraClusterTemplate,
    InfraMachineTemplate,
    Template,
    clone_template,
)

__all__ = [
    "CURRENT",
    "Absent",
    "BootstrapConfig",
    "BootstrapConfigTemplate",
    "BrokenDefinition",
    "ContractError",
    "ControlPlane",
    "ControlPlaneTemplate",
    "External",
    "Field",
    "FieldProblem",
    "Found",
    "InfraCluster",
    "InfraClusterTemplate",
    "InfraMachine",
    "InfraMachinePool",
    "InfraMachineTemplate",
    "MissingField",
    "NoContract",
    "NoVersion",
    "NotPermitted",
    "NotServed",
    "Observed",
    "Reference",
    "Resolved",
    "Template",
    "Unreadable",
    "Version",
    "View",
    "WrongType",
    "clone_template",
    "contract_violation",
    "crd_name",
    "fields_of",
    "owner_keys",
    "pick_fewest",
    "pick_most",
    "resolve",
    "version_priority",
]
