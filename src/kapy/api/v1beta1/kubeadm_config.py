"""KubeadmConfig(Template) as v1beta1 served them."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api import kubeadm_files
from kapy.api.kubeadm_config import Command
from kapy.api.kubeadm_disks import PartitionSpec
from kapy.api.v1beta1.embedded import OldConditions, OldGeneration, TemplateMeta, V1Beta2
from kapy.api.v1beta1.kubeadm import ClusterConfiguration
from kapy.api.v1beta1.kubeadm_node import InitConfiguration, JoinConfiguration
from kapy.api.v1beta1.model import OldModel, OldObject
from kapy.kube.model import rules
from kapy.kube.names import Resource

_Text = Annotated[str, rules(min_length=1, max_length=256)]
_Long = Annotated[str, rules(min_length=1, max_length=512)]


class Filesystem(OldModel):
    device: Annotated[str, rules(min_length=1, max_length=256)]
    filesystem: Annotated[str, rules(min_length=1, max_length=128)]
    label: Annotated[str, rules(min_length=1, max_length=512)] = ""
    partition: Annotated[
        str | None,
        rules(
            min_length=1,
            max_length=128,
        ),
    ] = None
    overwrite: bool | None = None
    replace_fs: Annotated[
        str | None,
        rules(
            min_length=1,
            max_length=128,
        ),
    ] = field(default=None, name="replaceFS")
    extra_opts: Annotated[list[_Text], rules(max_items=100)] = field(default_factory=list)


class Partition(OldModel):
    device: Annotated[str, rules(min_length=1, max_length=256)]
    layout: bool
    overwrite: bool | None = None
    table_type: Annotated[
        str | None,
        rules(enum=["mbr", "gpt"]),
    ] = None
    disk_layout: Annotated[list[PartitionSpec], rules(min_items=1, max_items=100)] = field(
        default_factory=list
    )


class DiskSetup(OldModel):
    partitions: Annotated[list[Partition], rules(max_items=100)] = field(default_factory=list)
    filesystems: Annotated[list[Filesystem], rules(max_items=100)] = field(default_factory=list)


class SecretKey(kubeadm_files.SecretKey):
    ZEROS: ClassVar[bool] = True


class SecretSource(kubeadm_files.SecretSource):
    ZEROS: ClassVar[bool] = True

    secret: SecretKey


class File(kubeadm_files.File):
    ZEROS: ClassVar[bool] = True

    append: bool = False
    content_from: SecretSource | None = None


class ContainerLinuxConfig(OldModel):
    additional_config: Annotated[
        str,
        rules(min_length=1, max_length=32768),
    ] = ""
    strict: bool = False


class IgnitionSpec(OldModel):
    container_linux_config: ContainerLinuxConfig | None = None


class NTP(OldModel):
    servers: Annotated[list[_Long], rules(max_items=100)] = field(default_factory=list)
    enabled: bool | None = None


class User(OldModel):
    name: Annotated[str, rules(min_length=1, max_length=256)]
    gecos: Annotated[str | None, rules(min_length=1, max_length=256)] = None
    groups: Annotated[str | None, rules(min_length=1, max_length=256)] = None
    home_dir: Annotated[str | None, rules(min_length=1, max_length=256)] = None
    inactive: bool | None = None
    shell: Annotated[str | None, rules(min_length=1, max_length=256)] = None
    passwd: Annotated[str | None, rules(min_length=1, max_length=256)] = None
    passwd_from: SecretSource | None = None
    primary_group: Annotated[str | None, rules(min_length=1, max_length=256)] = None
    lock_password: bool | None = None
    sudo: Annotated[str | None, rules(min_length=1, max_length=256)] = None
    ssh_authorized_keys: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=2048)]],
        rules(max_items=100),
    ] = field(default_factory=list)


class KubeadmConfigSpec(OldModel):
    cluster_configuration: ClusterConfiguration | None = None
    init_configuration: InitConfiguration | None = None
    join_configuration: JoinConfiguration | None = None
    files: Annotated[list[File], rules(max_items=200)] = field(default_factory=list)
    disk_setup: DiskSetup | None = None
    mounts: Annotated[
        list[list[_Long]],
        rules(max_items=100),
    ] = field(default_factory=list)
    boot_commands: Annotated[list[Command], rules(max_items=1000)] = field(default_factory=list)
    pre_kubeadm_commands: Annotated[list[Command], rules(max_items=1000)] = field(
        default_factory=list
    )
    post_kubeadm_commands: Annotated[list[Command], rules(max_items=1000)] = field(
        default_factory=list
    )
    users: Annotated[list[User], rules(max_items=100)] = field(default_factory=list)
    ntp: NTP | None = None
    format: Annotated[
        str,
        rules(
            enum=["cloud-config", "ignition"],
        ),
    ] = ""
    verbosity: Annotated[int | None, rules(format="int32")] = None
    use_experimental_retry_join: Annotated[
        bool,
        rules(
            "useExperimentalRetryJoin repeated a failed kubeadm join. It is deprecated and "
            "has no effect."
        ),
    ] = False
    ignition: IgnitionSpec | None = None


class KubeadmConfigStatus(OldModel):
    ready: Annotated[
        bool,
        rules(
            "ready is true after the Secret with the bootstrap data has been created.",
            zero="written",
        ),
    ] = False
    data_secret_name: Annotated[str | None, rules(min_length=1, max_length=253)] = None
    failure_reason: Annotated[
        str,
        rules(
            same_as="MachineSetV1Beta1DeprecatedStatus.failureReason", min_length=1, max_length=256
        ),
    ] = ""
    failure_message: Annotated[
        str,
        rules(
            same_as="MachineSetV1Beta1DeprecatedStatus.failureMessage",
            min_length=1,
            max_length=10240,
        ),
    ] = ""
    observed_generation: OldGeneration = 0
    conditions: OldConditions = field(default_factory=list)
    v1beta2: V1Beta2 = None


class KubeadmConfigTemplateResource(OldModel):
    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    spec: KubeadmConfigSpec = field(default_factory=KubeadmConfigSpec)


class KubeadmConfigTemplateSpec(OldModel):
    template: Annotated[KubeadmConfigTemplateResource, rules(required=True)] = field(
        default_factory=KubeadmConfigTemplateResource
    )


class KubeadmConfig(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "bootstrap.cluster.x-k8s.io", "v1beta1", "kubeadmconfigs", "KubeadmConfig"
    )

    spec: KubeadmConfigSpec = field(default_factory=KubeadmConfigSpec)
    status: KubeadmConfigStatus = field(default_factory=KubeadmConfigStatus)


class KubeadmConfigTemplate(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "bootstrap.cluster.x-k8s.io", "v1beta1", "kubeadmconfigtemplates", "KubeadmConfigTemplate"
    )

    spec: KubeadmConfigTemplateSpec = field(default_factory=KubeadmConfigTemplateSpec)
