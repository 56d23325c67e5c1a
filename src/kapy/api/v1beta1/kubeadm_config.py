"""KubeadmConfig(Template) in v1beta1."""

from typing import Annotated, Final

from kapy.api import kubeadm_config, kubeadm_disks, kubeadm_files
from kapy.api.older.difference import Difference
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
from kapy.api.v1beta1.kubeadm_conversion import downgrade_config_spec, upgrade_config_spec
from kapy.kube.model import rules

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
