"""KubeadmConfig(Template) in v1beta1, and the conversions that need more than one field.

v1beta1 has two of kubeadm's timeouts in other fields, and none of the others. Its flags of files
and volumes cannot be absent. Upstream: bootstrap/kubeadm/webhooks/conversion.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from kapy.api import kubeadm_config, kubeadm_disks, kubeadm_files
from kapy.api.older.difference import Difference, Place
from kapy.api.older.documents import bool_to_pointer, put, value_at
from kapy.api.older.durations import duration, seconds
from kapy.api.older.rows import (
    add,
    custom,
    loosen,
    make_required,
    plain_values,
    pointers,
    retype,
    values,
)
from kapy.api.older.status import conditions, milestones
from kapy.api.v1beta1.embedded import V1Beta2
from kapy.kube import Document
from kapy.kube.model import rules

_COMPONENTS: Final = ("apiServer", "controllerManager", "scheduler")
_CONFIGURATIONS: Final = ("initConfiguration", "joinConfiguration")
_HEALTH_CHECK: Final = "controlPlaneComponentHealthCheckSeconds"

_DISCOVERY: Final = ("joinConfiguration", "discovery")


def upgrade_config_spec(spec: Document, memory: Document | None, _: Place) -> None:
    """Convert flags of files and volumes, and timeouts. memory: the specification before."""
    before = memory or {}
    _flags_of_items(spec.get("files"), before.get("files"), "path", "append")
    for component in _COMPONENTS:
        where = ("clusterConfiguration", component, "extraVolumes")
        volumes, known_volumes = value_at(spec, *where), value_at(before, *where)
        _flags_of_items(volumes, known_volumes, "hostPath", "readOnly")
    _upgrade_timeouts(spec, before)


def downgrade_config_spec(spec: Document, _: Place) -> None:
    """Convert timeouts to the fields of the older version."""
    init, join = (_without_timeouts(spec, name) for name in _CONFIGURATIONS)
    if (health := init.get(_HEALTH_CHECK)) is not None:
        cluster = spec.setdefault("clusterConfiguration", {})
        cluster.setdefault("apiServer", {})["timeoutForControlPlane"] = duration(health)
    if (bootstrap := join.get("tlsBootstrapSeconds")) is not None:
        discovery = spec.setdefault("joinConfiguration", {}).setdefault("discovery", {})
        discovery["timeout"] = duration(bootstrap)


def _flags_of_items(items: Any, remembered: Any, key: str, name: str) -> None:
    """Convert a flag of each item. If items have the same key, the flag of the first one counts for
    all.
    """
    if not items:
        return
    result, before = _by_key(items, key, name), _by_key(remembered or (), key, name)
    for item in items:
        which = item.get(key, "")
        put(item, name, bool_to_pointer(result[which], before.get(which)))


def _by_key(items: Any, key: str, name: str) -> Document:
    result: Document = {}
    for item in items:
        result.setdefault(item.get(key, ""), item.get(name))
    return result


def _upgrade_timeouts(spec: Document, remembered: Document) -> None:
    for name in _CONFIGURATIONS:
        if before := value_at(remembered, name, "timeouts"):
            _timeouts(spec, name).update(before)
    health = _pop_seconds(spec, ("clusterConfiguration", "apiServer"), "timeoutForControlPlane")
    if health is not None:
        _timeouts(spec, "initConfiguration")[_HEALTH_CHECK] = health
    bootstrap = _pop_seconds(spec, _DISCOVERY, "timeout")
    if health is None and bootstrap is None:
        return
    # A joining control plane machine has the timeout of the first one, which may be absent.
    put(_timeouts(spec, "joinConfiguration"), _HEALTH_CHECK, health)
    if bootstrap is not None:
        _timeouts(spec, "joinConfiguration")["tlsBootstrapSeconds"] = bootstrap


def _timeouts(spec: Document, configuration: str) -> Document:
    timeouts: Document = spec.setdefault(configuration, {}).setdefault("timeouts", {})
    return timeouts


def _pop_seconds(spec: Document, where: tuple[str, ...], name: str) -> int | None:
    """Remove a duration and return its seconds."""
    result = (value_at(spec, *where) or {}).pop(name, None)
    return None if result is None else seconds(result)


def _without_timeouts(spec: Document, name: str) -> Document:
    """Remove the timeouts of a configuration and return them; remove the configuration if it is
    empty then.
    """
    configuration = spec.get(name) or {}
    timeouts: Document = configuration.pop("timeouts", {})
    if not configuration:
        spec.pop(name, None)
    return timeouts


_Mount = Annotated[str, rules(min_length=1, max_length=512)]

DIFFERENCES: Final = (
    Difference(kubeadm_disks.Filesystem, pointers("partition", "replace_fs"), loosen("extra_opts")),
    Difference(
        kubeadm_disks.Partition,
        plain_values("layout"),
        make_required("layout"),
        pointers("table_type"),
        retype(
            disk_layout=Annotated[
                list[kubeadm_disks.PartitionSpec], rules(min_items=1, max_items=100)
            ]
        ),
    ),
    Difference(kubeadm_disks.DiskSetup, loosen("partitions", "filesystems")),
    Difference(kubeadm_files.SecretKey),
    Difference(kubeadm_files.SecretSource),
    Difference(kubeadm_files.File, plain_values("append")),
    Difference(kubeadm_files.ContainerLinuxConfig, values("strict")),
    Difference(kubeadm_files.IgnitionSpec, pointers("container_linux_config")),
    Difference(kubeadm_files.NTP, loosen("servers")),
    Difference(
        kubeadm_files.User,
        pointers("gecos", "groups", "home_dir", "shell", "passwd", "primary_group", "sudo"),
        loosen("ssh_authorized_keys"),
    ),
    Difference(
        kubeadm_config.KubeadmConfigSpec,
        pointers(
            "cluster_configuration",
            "init_configuration",
            "join_configuration",
            "disk_setup",
            "ntp",
            "ignition",
        ),
        retype(mounts=Annotated[list[list[_Mount]], rules(max_items=100)]),
        loosen("files", "boot_commands", "pre_kubeadm_commands", "post_kubeadm_commands", "users"),
        add(
            use_experimental_retry_join=Annotated[
                bool,
                rules(
                    "useExperimentalRetryJoin repeated a failed kubeadm join. It is deprecated and "
                    "has no effect."
                ),
            ]
        ),
        custom(upgrade_config_spec, downgrade_config_spec, restores=True),
    ),
    Difference(
        kubeadm_config.KubeadmConfigStatus,
        pointers("data_secret_name"),
        loosen("observed_generation"),
        conditions(
            V1Beta2,
            deprecated={
                "failure_reason": Annotated[
                    str,
                    rules(
                        same_as="MachineSetV1Beta1DeprecatedStatus.failureReason",
                        min_length=1,
                        max_length=256,
                    ),
                ],
                "failure_message": Annotated[
                    str,
                    rules(
                        same_as="MachineSetV1Beta1DeprecatedStatus.failureMessage",
                        min_length=1,
                        max_length=10240,
                    ),
                ],
            },
            always=True,
        ),
        milestones(
            ready=(
                "dataSecretCreated",
                Annotated[
                    bool,
                    rules(
                        "ready is true after the Secret with the bootstrap data has been created.",
                        zero="written",
                    ),
                ],
            )
        ),
    ),
)
