"""KubeadmConfig(Template): how a machine becomes a Node with kubeadm."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.embedded import TemplateMeta
from kapy.api.kubeadm import ClusterConfiguration, InitConfiguration, JoinConfiguration
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource


class Filesystem(Model):
    device: Annotated[str, rules(min_length=1, max_length=256)]
    filesystem: Annotated[str, rules(min_length=1, max_length=128)]
    label: Annotated[str, rules(min_length=1, max_length=512)] = ""
    partition: Annotated[str, rules(min_length=1, max_length=128)] = ""
    overwrite: bool | None = None
    replace_fs: Annotated[str, rules(min_length=1, max_length=128)] = field(
        default="", name="replaceFS"
    )
    extra_opts: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(max_items=100, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)


class PartitionSpec(Model):
    percentage: Annotated[int, rules(format="int32", minimum=1, maximum=100)]
    partition_type: Annotated[
        str,
        rules(
            min_length=1,
            max_length=36,
            x_kubernetes_validations=[
                {
                    "message": (
                        "partitionType must be one of Linux, LinuxSwap, LinuxRAID, LVM,"
                        " Fat32, NTFS, LinuxExtended or a full GPT partition GUID"
                    ),
                    "rule": (
                        "self.matches('^(Linux|LinuxSwap|LinuxRAID|LVM|Fat32|NTFS|"
                        "LinuxExtended|"
                        "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})$')"
                    ),
                }
            ],
        ),
    ] = ""


class Partition(Model):
    SCHEMA: ClassVar[Document] = {
        "x-kubernetes-validations": [
            {
                "message": "exactly one of the fields in [layout diskLayout] must be set",
                "rule": ("[has(self.layout),has(self.diskLayout)].filter(x,x==true).size() == 1"),
            }
        ]
    }

    device: Annotated[str, rules(min_length=1, max_length=256)]
    layout: bool | None = None
    overwrite: bool | None = None
    table_type: Annotated[str, rules(enum=["mbr", "gpt"])] = ""
    disk_layout: Annotated[
        list[PartitionSpec], rules(min_items=1, max_items=100, x_kubernetes_list_type="atomic")
    ] = field(default_factory=list)


class DiskSetup(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    partitions: Annotated[
        list[Partition], rules(max_items=100, x_kubernetes_list_type="atomic")
    ] = field(default_factory=list)
    filesystems: Annotated[
        list[Filesystem], rules(max_items=100, x_kubernetes_list_type="atomic")
    ] = field(default_factory=list)


class SecretFileSource(Model):
    name: Annotated[str, rules(min_length=1, max_length=253)]
    key: Annotated[str, rules(min_length=1, max_length=256)]


class FileSource(Model):
    secret: SecretFileSource


class File(Model):
    path: Annotated[str, rules(min_length=1, max_length=512)]
    owner: Annotated[str, rules(min_length=1, max_length=256)] = ""
    permissions: Annotated[str, rules(min_length=1, max_length=16)] = ""
    encoding: Annotated[str, rules(enum=["base64", "gzip", "gzip+base64"])] = ""
    append: bool | None = None
    content: Annotated[str, rules(min_length=1, max_length=10240)] = ""
    content_from: FileSource | None = None
    content_format: Annotated[str, rules(enum=["Raw", "Template"])] = ""


class ContainerLinuxConfig(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    additional_config: Annotated[str, rules(min_length=1, max_length=32768)] = ""
    strict: bool | None = None


class IgnitionSpec(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    container_linux_config: ContainerLinuxConfig = field(default_factory=ContainerLinuxConfig)


class NTP(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    servers: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=512)]],
        rules(max_items=100, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)
    enabled: bool | None = None


class SecretPasswdSource(Model):
    name: Annotated[str, rules(min_length=1, max_length=253)]
    key: Annotated[str, rules(min_length=1, max_length=256)]


class PasswdSource(Model):
    secret: SecretPasswdSource


class User(Model):
    name: Annotated[str, rules(min_length=1, max_length=256)]
    gecos: Annotated[str, rules(min_length=1, max_length=256)] = ""
    groups: Annotated[str, rules(min_length=1, max_length=256)] = ""
    home_dir: Annotated[str, rules(min_length=1, max_length=256)] = ""
    inactive: bool | None = None
    shell: Annotated[str, rules(min_length=1, max_length=256)] = ""
    passwd: Annotated[str, rules(min_length=1, max_length=256)] = ""
    passwd_from: PasswdSource | None = None
    primary_group: Annotated[str, rules(min_length=1, max_length=256)] = ""
    lock_password: bool | None = None
    sudo: Annotated[str, rules(min_length=1, max_length=256)] = ""
    ssh_authorized_keys: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=2048)]],
        rules(max_items=100, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)


class KubeadmConfigSpec(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    cluster_configuration: ClusterConfiguration = field(default_factory=ClusterConfiguration)
    init_configuration: InitConfiguration = field(default_factory=InitConfiguration)
    join_configuration: JoinConfiguration = field(default_factory=JoinConfiguration)
    files: Annotated[
        list[File], rules(min_items=1, max_items=200, x_kubernetes_list_type="atomic")
    ] = field(default_factory=list)
    disk_setup: DiskSetup = field(default_factory=DiskSetup)
    mounts: Annotated[
        list[
            Annotated[
                list[Annotated[str, rules(min_length=1, max_length=512)]],
                rules(min_items=1, max_items=100),
            ]
        ],
        rules(min_items=1, max_items=100, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)
    boot_commands: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=10240)]],
        rules(min_items=1, max_items=1000, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)
    pre_kubeadm_commands: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=10240)]],
        rules(min_items=1, max_items=1000, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)
    post_kubeadm_commands: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=10240)]],
        rules(min_items=1, max_items=1000, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)
    users: Annotated[
        list[User], rules(min_items=1, max_items=100, x_kubernetes_list_type="atomic")
    ] = field(default_factory=list)
    ntp: NTP = field(default_factory=NTP)
    format: Annotated[str, rules(enum=["cloud-config", "ignition"])] = ""
    verbosity: Annotated[int | None, rules(format="int32")] = None
    ignition: IgnitionSpec = field(default_factory=IgnitionSpec)


class KubeadmConfigV1Beta1DeprecatedStatus(Model):
    conditions: list[V1Beta1Condition] = field(default_factory=list)
    failure_reason: Annotated[str, rules(min_length=1, max_length=256)] = ""
    failure_message: Annotated[str, rules(min_length=1, max_length=10240)] = ""


class KubeadmConfigDeprecatedStatus(Model):
    v1beta1: KubeadmConfigV1Beta1DeprecatedStatus | None = None


class KubeadmConfigInitializationStatus(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    data_secret_created: bool | None = None


class KubeadmConfigStatus(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Annotated[
        list[Condition],
        rules(max_items=32, x_kubernetes_list_type="map", x_kubernetes_list_map_keys=["type"]),
    ] = field(default_factory=list)
    initialization: KubeadmConfigInitializationStatus = field(
        default_factory=KubeadmConfigInitializationStatus
    )
    data_secret_name: Annotated[str, rules(min_length=1, max_length=253)] = ""
    observed_generation: Annotated[int, rules(format="int64", minimum=1)] = 0
    deprecated: KubeadmConfigDeprecatedStatus | None = None


class KubeadmConfigTemplateResource(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    spec: KubeadmConfigSpec = field(default_factory=KubeadmConfigSpec)


class KubeadmConfigTemplateSpec(Model):
    template: Annotated[KubeadmConfigTemplateResource, rules(required=True)] = field(
        default_factory=KubeadmConfigTemplateResource
    )


class KubeadmConfig(Object, kw_only=True):
    """KubeadmConfig"""

    RESOURCE: ClassVar[Resource] = Resource(
        "bootstrap.cluster.x-k8s.io", "v1beta2", "kubeadmconfigs", "KubeadmConfig"
    )

    spec: KubeadmConfigSpec = field(default_factory=KubeadmConfigSpec)
    status: KubeadmConfigStatus = field(default_factory=KubeadmConfigStatus)


class KubeadmConfigTemplate(Object, kw_only=True):
    """KubeadmConfigTemplate"""

    RESOURCE: ClassVar[Resource] = Resource(
        "bootstrap.cluster.x-k8s.io", "v1beta2", "kubeadmconfigtemplates", "KubeadmConfigTemplate"
    )

    spec: KubeadmConfigTemplateSpec = field(default_factory=KubeadmConfigTemplateSpec)
