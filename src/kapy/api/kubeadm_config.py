"""KubeadmConfig(Template): how a machine becomes a Node with kubeadm."""

from typing import Annotated, ClassVar

import msgspec
from msgspec import field

from kapy.api.embedded import TemplateMeta
from kapy.api.kubeadm import ClusterConfiguration
from kapy.api.kubeadm_node import InitConfiguration, JoinConfiguration
from kapy.api.status import Conditions, ObservedGeneration, V1Beta1Conditions
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource


class Filesystem(Model):
    """One filesystem to make."""

    device: Annotated[str, rules("The device to make it on.", min_length=1, max_length=256)]
    filesystem: Annotated[str, rules("Its type, as in ext4.", min_length=1, max_length=128)]
    label: Annotated[str, rules("Its label.", min_length=1, max_length=512)] = ""
    partition: Annotated[
        str,
        rules(
            "The partition of the device: a number, auto, any or none.",
            min_length=1,
            max_length=128,
        ),
    ] = ""
    overwrite: Annotated[bool | None, rules("Whether to replace a filesystem that is there.")] = (
        None
    )
    replace_fs: Annotated[
        str,
        rules(
            "The type of filesystem that may be replaced (for Microsoft Azure).",
            min_length=1,
            max_length=128,
        ),
    ] = field(default="", name="replaceFS")
    extra_opts: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(
            "More options for the command that makes it.",
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


class PartitionSpec(Model):
    """One partition."""

    percentage: Annotated[
        int, rules("How much of the device it takes.", format="int32", minimum=1, maximum=100)
    ]
    partition_type: Annotated[
        str,
        rules(
            "Its type.",
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
    """The partitions of one device."""

    SCHEMA: ClassVar[Document] = {
        "x-kubernetes-validations": [
            {
                "message": "exactly one of the fields in [layout diskLayout] must be set",
                "rule": ("[has(self.layout),has(self.diskLayout)].filter(x,x==true).size() == 1"),
            }
        ]
    }

    device: Annotated[str, rules("The device.", min_length=1, max_length=256)]
    layout: Annotated[
        bool | None, rules("Whether one partition takes the whole device; without diskLayout.")
    ] = None
    overwrite: Annotated[
        bool | None, rules("Whether to skip the check that the device is empty.")
    ] = None
    table_type: Annotated[
        str, rules("The type of partition table: mbr (unless said) or gpt.", enum=["mbr", "gpt"])
    ] = ""
    disk_layout: Annotated[
        list[PartitionSpec],
        rules(
            "The partitions one by one.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


class DiskSetup(Model):
    """Partitions and filesystems to make."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    partitions: Annotated[
        list[Partition], rules("The partitions.", max_items=100, x_kubernetes_list_type="atomic")
    ] = field(default_factory=list)
    filesystems: Annotated[
        list[Filesystem], rules("The filesystems.", max_items=100, x_kubernetes_list_type="atomic")
    ] = field(default_factory=list)


class SecretKey(Model):
    """Names one key of a Secret."""

    name: Annotated[str, rules("The Secret's name.", min_length=1, max_length=253)]
    key: Annotated[str, rules("The key.", min_length=1, max_length=256)]


class SecretSource(Model):
    """Where a confidential value comes from."""

    secret: Annotated[SecretKey, rules("A key of a Secret.")]


class File(Model):
    """One file to write."""

    path: Annotated[str, rules("Where to write it.", min_length=1, max_length=512)]
    owner: Annotated[str, rules("Who owns it, as in root:root.", min_length=1, max_length=256)] = ""
    permissions: Annotated[
        str, rules("Its permissions, as in 0640.", min_length=1, max_length=16)
    ] = ""
    encoding: Annotated[
        str,
        rules(
            "How the content is encoded: base64, gzip or gzip+base64.",
            enum=["base64", "gzip", "gzip+base64"],
        ),
    ] = ""
    append: Annotated[bool | None, rules("Whether to append to a file that is there.")] = None
    content: Annotated[str, rules("What to write.", min_length=1, max_length=10240)] = ""
    content_from: Annotated[
        SecretSource | None, rules("Where to take from what to write.", zero="omitted")
    ] = None
    content_format: Annotated[
        str,
        rules(
            "Whether the content is written as it is (Raw, unless said) or is a Template.",
            enum=["Raw", "Template"],
        ),
    ] = ""


class ContainerLinuxConfig(Model):
    """Additions in the form of a Container Linux Config."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    additional_config: Annotated[
        str,
        rules(
            "The additions, merged into what is made of the rest.", min_length=1, max_length=32768
        ),
    ] = ""
    strict: Annotated[bool | None, rules("Whether what cannot be understood is an error.")] = None


class IgnitionSpec(Model):
    """What goes into boot data in the form of Ignition."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    container_linux_config: Annotated[
        ContainerLinuxConfig, rules("Additions in the form of a Container Linux Config.")
    ] = field(default_factory=ContainerLinuxConfig)


class NTP(Model):
    """Where a machine gets its time from."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    servers: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=512)]],
        rules("The servers to ask.", max_items=100, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)
    enabled: Annotated[bool | None, rules("Whether to ask at all.")] = None


class User(Model):
    """One user to create."""

    name: Annotated[str, rules("The user's name.", min_length=1, max_length=256)]
    gecos: Annotated[
        str, rules("The user's full name and the like.", min_length=1, max_length=256)
    ] = ""
    groups: Annotated[
        str, rules("More groups that the user belongs to.", min_length=1, max_length=256)
    ] = ""
    home_dir: Annotated[str, rules("The home folder.", min_length=1, max_length=256)] = ""
    inactive: Annotated[bool | None, rules("Whether the user cannot log in.")] = None
    shell: Annotated[str, rules("The login shell.", min_length=1, max_length=256)] = ""
    passwd: Annotated[str, rules("The hashed password.", min_length=1, max_length=256)] = ""
    passwd_from: Annotated[
        SecretSource | None, rules("Where to take the hashed password from.", zero="omitted")
    ] = None
    primary_group: Annotated[str, rules("The user's main group.", min_length=1, max_length=256)] = (
        ""
    )
    lock_password: Annotated[bool | None, rules("Whether logging in with the password is off.")] = (
        None
    )
    sudo: Annotated[str, rules("What the user may do with sudo.", min_length=1, max_length=256)] = (
        ""
    )
    ssh_authorized_keys: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=2048)]],
        rules(
            "Public keys that the user may log in with.",
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


Command = Annotated[str, rules(min_length=1, max_length=10240)]


def _commands(description: str) -> msgspec.Meta:
    """The rules of a list of commands."""
    return rules(description, min_items=1, max_items=1000, x_kubernetes_list_type="atomic")


class KubeadmConfigSpec(Model):
    """Everything that goes into the boot data of a machine."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    cluster_configuration: Annotated[
        ClusterConfiguration,
        rules("What kubeadm needs to know about the cluster, for its first machine."),
    ] = field(default_factory=ClusterConfiguration)
    init_configuration: Annotated[
        InitConfiguration,
        rules("What kubeadm init needs to know, for the cluster's first machine."),
    ] = field(default_factory=InitConfiguration)
    join_configuration: Annotated[
        JoinConfiguration, rules("What kubeadm join needs to know, for every other machine.")
    ] = field(default_factory=JoinConfiguration)
    files: Annotated[
        list[File],
        rules(
            "Files to write before kubeadm runs.",
            min_items=1,
            max_items=200,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    disk_setup: Annotated[DiskSetup, rules("Partitions and filesystems to make.")] = field(
        default_factory=DiskSetup
    )
    mounts: Annotated[
        list[
            Annotated[
                list[Annotated[str, rules(min_length=1, max_length=512)]],
                rules(min_items=1, max_items=100),
            ]
        ],
        rules(
            "Mount points, each as the fields of a line of fstab.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    boot_commands: Annotated[list[Command], _commands("Commands that run early in every boot.")] = (
        field(default_factory=list)
    )
    pre_kubeadm_commands: Annotated[
        list[Command], _commands("Commands that run before kubeadm.")
    ] = field(default_factory=list)
    post_kubeadm_commands: Annotated[
        list[Command], _commands("Commands that run after kubeadm.")
    ] = field(default_factory=list)
    users: Annotated[
        list[User],
        rules("Users to create.", min_items=1, max_items=100, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)
    ntp: Annotated[NTP, rules("Where the machine gets its time from.")] = field(default_factory=NTP)
    format: Annotated[
        str,
        rules(
            "The form of the boot data: cloud-config (unless said) or ignition.",
            enum=["cloud-config", "ignition"],
        ),
    ] = ""
    verbosity: Annotated[int | None, rules("How much kubeadm logs.", format="int32")] = None
    ignition: Annotated[
        IgnitionSpec, rules("What goes into the boot data when its form is Ignition.")
    ] = field(default_factory=IgnitionSpec)


class KubeadmConfigV1Beta1DeprecatedStatus(Model):
    """What v1beta1 reported of a KubeadmConfig."""

    conditions: V1Beta1Conditions = field(default_factory=list)
    failure_reason: Annotated[
        str,
        rules(
            "In one word, why the object failed for good; v1beta1 reported it.",
            min_length=1,
            max_length=256,
        ),
    ] = ""
    failure_message: Annotated[
        str,
        rules(
            "In a sentence, why the object failed for good; v1beta1 reported it.",
            min_length=1,
            max_length=10240,
        ),
    ] = ""


class KubeadmConfigDeprecatedStatus(Model):
    """What older versions of the API reported of a KubeadmConfig."""

    v1beta1: Annotated[
        KubeadmConfigV1Beta1DeprecatedStatus | None, rules("What v1beta1 reported.")
    ] = None


class KubeadmConfigInitializationStatus(Model):
    """Milestones of a KubeadmConfig."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    data_secret_created: Annotated[
        bool | None, rules("Whether the boot data has been there once.")
    ] = None


class KubeadmConfigStatus(Model):
    """What came of a KubeadmConfig."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Conditions = field(default_factory=list)
    initialization: Annotated[
        KubeadmConfigInitializationStatus,
        rules("Milestones of the first provisioning; they are not taken back."),
    ] = field(default_factory=KubeadmConfigInitializationStatus)
    data_secret_name: Annotated[
        str, rules("The Secret that holds the boot data.", min_length=1, max_length=253)
    ] = ""
    observed_generation: ObservedGeneration = 0
    deprecated: Annotated[
        KubeadmConfigDeprecatedStatus | None,
        rules("Values that only readers of v1beta1 still look at."),
    ] = None


class KubeadmConfigTemplateResource(Model):
    """What KubeadmConfigs made of the template look like."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    metadata: Annotated[TemplateMeta, rules("Labels and annotations for them.")] = field(
        default_factory=TemplateMeta
    )
    spec: Annotated[KubeadmConfigSpec, rules("What they should be.")] = field(
        default_factory=KubeadmConfigSpec
    )


class KubeadmConfigTemplateSpec(Model):
    """What a KubeadmConfigTemplate holds."""

    template: Annotated[
        KubeadmConfigTemplateResource, rules("What KubeadmConfigs look like.", required=True)
    ] = field(default_factory=KubeadmConfigTemplateResource)


class KubeadmConfig(Object, kw_only=True):
    """How one machine becomes a Node with kubeadm."""

    RESOURCE: ClassVar[Resource] = Resource(
        "bootstrap.cluster.x-k8s.io", "v1beta2", "kubeadmconfigs", "KubeadmConfig"
    )

    spec: Annotated[KubeadmConfigSpec, rules("The configuration as it is wanted.")] = field(
        default_factory=KubeadmConfigSpec
    )
    status: Annotated[KubeadmConfigStatus, rules("What came of it.")] = field(
        default_factory=KubeadmConfigStatus
    )


class KubeadmConfigTemplate(Object, kw_only=True):
    """What KubeadmConfigs are made of."""

    RESOURCE: ClassVar[Resource] = Resource(
        "bootstrap.cluster.x-k8s.io", "v1beta2", "kubeadmconfigtemplates", "KubeadmConfigTemplate"
    )

    spec: Annotated[KubeadmConfigTemplateSpec, rules("The template as it is wanted.")] = field(
        default_factory=KubeadmConfigTemplateSpec
    )
