"""Labels, annotations and finalizers that Cluster API gives a meaning (upstream's constants)."""

from typing import Final

CLUSTER_NAME_LABEL: Final = "cluster.x-k8s.io/cluster-name"
CONTROL_PLANE_LABEL: Final = "cluster.x-k8s.io/control-plane"
CONTROL_PLANE_NAME_LABEL: Final = "cluster.x-k8s.io/control-plane-name"
DEPLOYMENT_NAME_LABEL: Final = "cluster.x-k8s.io/deployment-name"
SET_NAME_LABEL: Final = "cluster.x-k8s.io/set-name"
POOL_NAME_LABEL: Final = "cluster.x-k8s.io/pool-name"
TEMPLATE_HASH_LABEL: Final = "machine-template-hash"
INTERRUPTIBLE_LABEL: Final = "cluster.x-k8s.io/interruptible"

PAUSED_ANNOTATION: Final = "cluster.x-k8s.io/paused"
CLONED_FROM_NAME_ANNOTATION: Final = "cluster.x-k8s.io/cloned-from-name"
CLONED_FROM_GROUP_KIND_ANNOTATION: Final = "cluster.x-k8s.io/cloned-from-groupkind"
DELETE_MACHINE_ANNOTATION: Final = "cluster.x-k8s.io/delete-machine"
DISABLE_MACHINE_CREATE_ANNOTATION: Final = "cluster.x-k8s.io/disable-machine-create"
REMEDIATE_MACHINE_ANNOTATION: Final = "cluster.x-k8s.io/remediate-machine"
SKIP_PREFLIGHT_CHECKS_ANNOTATION: Final = "machineset.cluster.x-k8s.io/skip-preflight-checks"
UPGRADE_STEP_ANNOTATION: Final = "topology.internal.cluster.x-k8s.io/upgrade-step"

EXCLUDE_DRAIN_ANNOTATION: Final = "machine.cluster.x-k8s.io/exclude-node-draining"
EXCLUDE_VOLUME_DETACH_ANNOTATION: Final = (
    "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach"
)
CERTIFICATES_EXPIRY_ANNOTATION: Final = "machine.cluster.x-k8s.io/certificates-expiry"
PRE_DRAIN_HOOK_PREFIX: Final = "pre-drain.delete.hook.machine.cluster.x-k8s.io"
PRE_TERMINATE_HOOK_PREFIX: Final = "pre-terminate.delete.hook.machine.cluster.x-k8s.io"

PENDING_HOOKS_ANNOTATION: Final = "runtime.cluster.x-k8s.io/pending-hooks"
UPDATE_IN_PROGRESS_ANNOTATION: Final = (
    "in-place-updates.internal.cluster.x-k8s.io/update-in-progress"
)
PENDING_ACKNOWLEDGE_MOVE_ANNOTATION: Final = (
    "in-place-updates.internal.cluster.x-k8s.io/pending-acknowledge-move"
)
ACKNOWLEDGED_MOVE_ANNOTATION: Final = "in-place-updates.internal.cluster.x-k8s.io/acknowledged-move"
MOVE_MACHINES_TO_ANNOTATION: Final = (
    "in-place-updates.internal.cluster.x-k8s.io/move-machines-to-machineset"
)
RECEIVE_MACHINES_FROM_ANNOTATION: Final = (
    "in-place-updates.internal.cluster.x-k8s.io/receive-machines-from-machinesets"
)

REVISION_ANNOTATION: Final = "machinedeployment.clusters.x-k8s.io/revision"
REVISION_HISTORY_ANNOTATION: Final = "machinedeployment.clusters.x-k8s.io/revision-history"
DESIRED_REPLICAS_ANNOTATION: Final = "machinedeployment.clusters.x-k8s.io/desired-replicas"
MAX_REPLICAS_ANNOTATION: Final = "machinedeployment.clusters.x-k8s.io/max-replicas"
LAST_APPLIED_ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
CONVERSION_DATA_ANNOTATION: Final = "cluster.x-k8s.io/conversion-data"

CLUSTER_FINALIZER: Final = "cluster.cluster.x-k8s.io"
MACHINE_FINALIZER: Final = "machine.cluster.x-k8s.io"
MACHINE_SET_FINALIZER: Final = "cluster.x-k8s.io/machineset"
MACHINE_DEPLOYMENT_FINALIZER: Final = "cluster.x-k8s.io/machinedeployment"
