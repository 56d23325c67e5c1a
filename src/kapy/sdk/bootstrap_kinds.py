"""The fields of bootstrap configurations that the contract requires, as bases of an author's kinds.

class SheetConfig(Object):
    RESOURCE = resource("bootstrap.cluster.x-k8s.io", "v1alpha1", "SheetConfig")
    spec: SheetConfigSpec = field(default_factory=SheetConfigSpec)
    status: BootstrapConfigStatus = field(default_factory=BootstrapConfigStatus)
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.status import Conditions, Deprecated
from kapy.kube import Document
from kapy.kube.model import Model, rules
from kapy.sdk.contract_objects import ContractObject, ContractStatus


class BootstrapInitialization(Model):
    """BootstrapInitialization records the milestones of a bootstrap configuration. A milestone
    stays true once it is reached.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    data_secret_created: Annotated[
        bool | None,
        rules(
            "dataSecretCreated is true after the Secret with the bootstrap data has been "
            "created for the first time. It stays true afterwards."
        ),
    ] = None


class BootstrapConfigStatus(ContractStatus):
    """BootstrapConfigStatus is the base of the observed state of a bootstrap configuration."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Conditions = field(default_factory=list)
    initialization: Annotated[
        BootstrapInitialization,
        rules(
            "initialization records the milestones of the bootstrap configuration. The "
            "Machine controller reads it."
        ),
    ] = field(default_factory=BootstrapInitialization)
    data_secret_name: Annotated[
        str,
        rules(
            "dataSecretName is the name of the Secret with the bootstrap data.",
            min_length=1,
            max_length=253,
        ),
    ] = ""
    deprecated: Deprecated = None


class BootstrapConfigContractObject(ContractObject):
    """BootstrapConfigLens is a bootstrap configuration with the fields of its contract."""

    status: BootstrapConfigStatus = field(default_factory=BootstrapConfigStatus)
