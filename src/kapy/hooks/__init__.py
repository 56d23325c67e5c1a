"""The Runtime SDK: hooks into the lifecycle of clusters.

Authors of extensions import from here (and patches of templates from `kapy.hooks.mutation`): hooks,
their messages, `Extension` and `Application`. `kapy.hooks.caller` calls extensions,
`kapy.hooks.catalog` lists the hooks.
"""

from kapy.hooks.application import Application
from kapy.hooks.errors import HookFailed
from kapy.hooks.extension import Extension
from kapy.hooks.hook import Hook
from kapy.hooks.messages.after_cluster_upgrade import (
    AFTER_CLUSTER_UPGRADE,
    AfterClusterUpgradeRequest,
)
from kapy.hooks.messages.after_control_plane_initialized import (
    AFTER_CONTROL_PLANE_INITIALIZED,
    AfterControlPlaneInitializedRequest,
)
from kapy.hooks.messages.after_control_plane_upgrade import (
    AFTER_CONTROL_PLANE_UPGRADE,
    AfterControlPlaneUpgradeRequest,
)
from kapy.hooks.messages.after_workers_upgrade import (
    AFTER_WORKERS_UPGRADE,
    AfterWorkersUpgradeRequest,
)
from kapy.hooks.messages.before_cluster_create import (
    BEFORE_CLUSTER_CREATE,
    BeforeClusterCreateRequest,
)
from kapy.hooks.messages.before_cluster_delete import (
    BEFORE_CLUSTER_DELETE,
    BeforeClusterDeleteRequest,
)
from kapy.hooks.messages.before_cluster_upgrade import (
    BEFORE_CLUSTER_UPGRADE,
    BeforeClusterUpgradeRequest,
)
from kapy.hooks.messages.before_control_plane_upgrade import (
    BEFORE_CONTROL_PLANE_UPGRADE,
    BeforeControlPlaneUpgradeRequest,
)
from kapy.hooks.messages.before_workers_upgrade import (
    BEFORE_WORKERS_UPGRADE,
    BeforeWorkersUpgradeRequest,
)
from kapy.hooks.messages.can_update_machine import (
    CAN_UPDATE_MACHINE,
    CanUpdateMachineRequest,
    CanUpdateMachineResponse,
)
from kapy.hooks.messages.can_update_machine_set import (
    CAN_UPDATE_MACHINE_SET,
    CanUpdateMachineSetRequest,
    CanUpdateMachineSetResponse,
)
from kapy.hooks.messages.cluster_request import UpgradeStepInfo
from kapy.hooks.messages.discover_variables import (
    DISCOVER_VARIABLES,
    DiscoverVariablesRequest,
    DiscoverVariablesResponse,
)
from kapy.hooks.messages.discovery import DISCOVERY, DiscoveryRequest, DiscoveryResponse
from kapy.hooks.messages.generate_patches import (
    GENERATE_PATCHES,
    GeneratePatchesRequest,
    GeneratePatchesResponse,
    GeneratePatchesResponseItem,
)
from kapy.hooks.messages.generate_upgrade_plan import (
    GENERATE_UPGRADE_PLAN,
    GenerateUpgradePlanRequest,
    GenerateUpgradePlanResponse,
    UpgradeStep,
)
from kapy.hooks.messages.message import Request, Response, RetryResponse
from kapy.hooks.messages.patch import Patch
from kapy.hooks.messages.templates import HolderReference, Variable
from kapy.hooks.messages.update_machine import (
    UPDATE_MACHINE,
    UpdateMachineRequest,
    UpdateMachineResponse,
)
from kapy.hooks.messages.validate_topology import (
    VALIDATE_TOPOLOGY,
    ValidateTopologyRequest,
    ValidateTopologyResponse,
)

__all__ = [
    "AFTER_CLUSTER_UPGRADE",
    "AFTER_CONTROL_PLANE_INITIALIZED",
    "AFTER_CONTROL_PLANE_UPGRADE",
    "AFTER_WORKERS_UPGRADE",
    "BEFORE_CLUSTER_CREATE",
    "BEFORE_CLUSTER_DELETE",
    "BEFORE_CLUSTER_UPGRADE",
    "BEFORE_CONTROL_PLANE_UPGRADE",
    "BEFORE_WORKERS_UPGRADE",
    "CAN_UPDATE_MACHINE",
    "CAN_UPDATE_MACHINE_SET",
    "DISCOVERY",
    "DISCOVER_VARIABLES",
    "GENERATE_PATCHES",
    "GENERATE_UPGRADE_PLAN",
    "UPDATE_MACHINE",
    "VALIDATE_TOPOLOGY",
    "AfterClusterUpgradeRequest",
    "AfterControlPlaneInitializedRequest",
    "AfterControlPlaneUpgradeRequest",
    "AfterWorkersUpgradeRequest",
    "Application",
    "BeforeClusterCreateRequest",
    "BeforeClusterDeleteRequest",
    "BeforeClusterUpgradeRequest",
    "BeforeControlPlaneUpgradeRequest",
    "BeforeWorkersUpgradeRequest",
    "CanUpdateMachineRequest",
    "CanUpdateMachineResponse",
    "CanUpdateMachineSetRequest",
    "CanUpdateMachineSetResponse",
    "DiscoverVariablesRequest",
    "DiscoverVariablesResponse",
    "DiscoveryRequest",
    "DiscoveryResponse",
    "Extension",
    "GeneratePatchesRequest",
    "GeneratePatchesResponse",
    "GeneratePatchesResponseItem",
    "GenerateUpgradePlanRequest",
    "GenerateUpgradePlanResponse",
    "HolderReference",
    "Hook",
    "HookFailed",
    "Patch",
    "Request",
    "Response",
    "RetryResponse",
    "UpdateMachineRequest",
    "UpdateMachineResponse",
    "UpgradeStep",
    "UpgradeStepInfo",
    "ValidateTopologyRequest",
    "ValidateTopologyResponse",
    "Variable",
]
