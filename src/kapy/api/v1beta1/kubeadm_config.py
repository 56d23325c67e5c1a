"""KubeadmConfig(Template) as v1beta1 served them."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api import kubeadm_config
from kapy.api.kubeadm_config import Command, PartitionSpec
from kapy.api.v1beta1.embedded import OldConditions, OldGeneration, TemplateMeta, V1Beta2
from kapy.api.v1beta1.kubeadm import ClusterConfiguration
from kapy.api.v1beta1.kubeadm_node import InitConfiguration, JoinConfiguration
from kapy.api.v1beta1.model import OldModel, OldObject
from kapy.kube.model import rules
from kapy.kube.names import Resource

_Text = Annotated[str, rules(min_length=1, max_length=256)]
_Long = Annotated[str, rules(min_length=1, max_length=512)]


class Filesystem(OldModel):
    """One filesystem to make."""

    device: Annotated[str, rules("The device to make it on.", min_length=1, max_length=256)]
    filesystem: Annotated[str, rules("Its type, as in ext4.", min_length=1, max_length=128)]
    label: Annotated[str, rules("Its label.", min_length=1, max_length=512)] = ""
    partition: Annotated[
        str | None,
        rules(
            "The partition of the device: a number, auto, any or none.",
            min_length=1,
            max_length=128,
        ),
    ] = None
    overwrite: Annotated[bool | None, rules("Whether to replace a filesystem that is there.")] = (
        None
    )
    replace_fs: Annotated[
        str | None,
        rules(
            "The type of filesystem that may be replaced (for Microsoft Azure).",
            min_length=1,
            max_length=128,
        ),
    ] = field(default=None, name="replaceFS")
    extra_opts: Annotated[
        list[_Text], rules("More options for the command that makes it.", max_items=100)
    ] = field(default_factory=list)


class Partition(OldModel):
    """The partitions of one device."""

    device: Annotated[str, rules("The device.", min_length=1, max_length=256)]
    layout: Annotated[bool, rules("Whether one partition takes the whole device.")]
    overwrite: Annotated[
        bool | None, rules("Whether to skip the check that the device is empty.")
    ] = None
    table_type: Annotated[
        str | None,
        rules("The type of partition table: mbr (unless said) or gpt.", enum=["mbr", "gpt"]),
    ] = None
    disk_layout: Annotated[
        list[PartitionSpec], rules("The partitions one by one.", min_items=1, max_items=100)
    ] = field(default_factory=list)


class DiskSetup(OldModel):
    """Partitions and filesystems to make."""

    partitions: Annotated[list[Partition], rules("The partitions.", max_items=100)] = field(
        default_factory=list
    )
    filesystems: Annotated[list[Filesystem], rules("The filesystems.", max_items=100)] = field(
        default_factory=list
    )


class SecretKey(kubeadm_config.SecretKey):
    """Names one key of a Secret."""

    ZEROS: ClassVar[bool] = True


class SecretSource(kubeadm_config.SecretSource):
    """Where a confidential value comes from."""

    ZEROS: ClassVar[bool] = True

    secret: Annotated[SecretKey, rules("A key of a Secret.")]


class File(kubeadm_config.File):
    """One file to write."""

    ZEROS: ClassVar[bool] = True

    append: Annotated[bool, rules("Whether to append to a file that is there.")] = False
    content_from: Annotated[SecretSource | None, rules("Where to take from what to write.")] = None


class ContainerLinuxConfig(OldModel):
    """Additions in the form of a Container Linux Config."""

    additional_config: Annotated[
        str,
        rules(
            "The additions, merged into what is made of the rest.", min_length=1, max_length=32768
        ),
    ] = ""
    strict: Annotated[bool, rules("Whether what cannot be understood is an error.")] = False


class IgnitionSpec(OldModel):
    """What goes into boot data in the form of Ignition."""

    container_linux_config: Annotated[
        ContainerLinuxConfig | None, rules("Additions in the form of a Container Linux Config.")
    ] = None


class NTP(OldModel):
    """Where a machine gets its time from."""

    servers: Annotated[list[_Long], rules("The servers to ask.", max_items=100)] = field(
        default_factory=list
    )
    enabled: Annotated[bool | None, rules("Whether to ask at all.")] = None


class User(OldModel):
    """One user to create."""

    name: Annotated[str, rules("The user's name.", min_length=1, max_length=256)]
    gecos: Annotated[
        str | None, rules("The user's full name and the like.", min_length=1, max_length=256)
    ] = None
    groups: Annotated[
        str | None, rules("More groups that the user belongs to.", min_length=1, max_length=256)
    ] = None
    home_dir: Annotated[str | None, rules("The home folder.", min_length=1, max_length=256)] = None
    inactive: Annotated[bool | None, rules("Whether the user cannot log in.")] = None
    shell: Annotated[str | None, rules("The login shell.", min_length=1, max_length=256)] = None
    passwd: Annotated[str | None, rules("The hashed password.", min_length=1, max_length=256)] = (
        None
    )
    passwd_from: Annotated[
        SecretSource | None, rules("Where to take the hashed password from.")
    ] = None
    primary_group: Annotated[
        str | None, rules("The user's main group.", min_length=1, max_length=256)
    ] = None
    lock_password: Annotated[bool | None, rules("Whether logging in with the password is off.")] = (
        None
    )
    sudo: Annotated[
        str | None, rules("What the user may do with sudo.", min_length=1, max_length=256)
    ] = None
    ssh_authorized_keys: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=2048)]],
        rules("Public keys that the user may log in with.", max_items=100),
    ] = field(default_factory=list)


class KubeadmConfigSpec(OldModel):
    """Everything that goes into the boot data of a machine."""

    cluster_configuration: Annotated[
        ClusterConfiguration | None,
        rules("What kubeadm needs to know about the cluster, for its first machine."),
    ] = None
    init_configuration: Annotated[
        InitConfiguration | None,
        rules("What kubeadm init needs to know, for the cluster's first machine."),
    ] = None
    join_configuration: Annotated[
        JoinConfiguration | None,
        rules("What kubeadm join needs to know, for every other machine."),
    ] = None
    files: Annotated[list[File], rules("Files to write before kubeadm runs.", max_items=200)] = (
        field(default_factory=list)
    )
    disk_setup: Annotated[DiskSetup | None, rules("Partitions and filesystems to make.")] = None
    mounts: Annotated[
        list[list[_Long]],
        rules("Mount points, each as the fields of a line of fstab.", max_items=100),
    ] = field(default_factory=list)
    boot_commands: Annotated[
        list[Command], rules("Commands that run early in every boot.", max_items=1000)
    ] = field(default_factory=list)
    pre_kubeadm_commands: Annotated[
        list[Command], rules("Commands that run before kubeadm.", max_items=1000)
    ] = field(default_factory=list)
    post_kubeadm_commands: Annotated[
        list[Command], rules("Commands that run after kubeadm.", max_items=1000)
    ] = field(default_factory=list)
    users: Annotated[list[User], rules("Users to create.", max_items=100)] = field(
        default_factory=list
    )
    ntp: Annotated[NTP | None, rules("Where the machine gets its time from.")] = None
    format: Annotated[
        str,
        rules(
            "The form of the boot data: cloud-config (unless said) or ignition.",
            enum=["cloud-config", "ignition"],
        ),
    ] = ""
    verbosity: Annotated[int | None, rules("How much kubeadm logs.", format="int32")] = None
    use_experimental_retry_join: Annotated[
        bool, rules("Whether kubeadm join was tried again; it has no effect any more.")
    ] = False
    ignition: Annotated[
        IgnitionSpec | None, rules("What goes into the boot data when its form is Ignition.")
    ] = None


class KubeadmConfigStatus(OldModel):
    """What came of a KubeadmConfig."""

    ready: Annotated[bool, rules("Whether the boot data is there.", zero="written")] = False
    data_secret_name: Annotated[
        str | None, rules("The Secret that holds the boot data.", min_length=1, max_length=253)
    ] = None
    failure_reason: Annotated[
        str,
        rules("In one word, why the object failed for good.", min_length=1, max_length=256),
    ] = ""
    failure_message: Annotated[
        str,
        rules("In a sentence, why the object failed for good.", min_length=1, max_length=10240),
    ] = ""
    observed_generation: OldGeneration = 0
    conditions: OldConditions = field(default_factory=list)
    v1beta2: V1Beta2 = None


class KubeadmConfigTemplateResource(OldModel):
    """What KubeadmConfigs made of the template look like."""

    metadata: Annotated[TemplateMeta, rules("Labels and annotations for them.")] = field(
        default_factory=TemplateMeta
    )
    spec: Annotated[KubeadmConfigSpec, rules("What they should be.")] = field(
        default_factory=KubeadmConfigSpec
    )


class KubeadmConfigTemplateSpec(OldModel):
    """What a KubeadmConfigTemplate holds."""

    template: Annotated[
        KubeadmConfigTemplateResource, rules("What KubeadmConfigs look like.", required=True)
    ] = field(default_factory=KubeadmConfigTemplateResource)


class KubeadmConfig(OldObject, kw_only=True):
    """How one machine becomes a Node with kubeadm."""

    RESOURCE: ClassVar[Resource] = Resource(
        "bootstrap.cluster.x-k8s.io", "v1beta1", "kubeadmconfigs", "KubeadmConfig"
    )

    spec: Annotated[KubeadmConfigSpec, rules("The configuration as it is wanted.")] = field(
        default_factory=KubeadmConfigSpec
    )
    status: Annotated[KubeadmConfigStatus, rules("What came of it.")] = field(
        default_factory=KubeadmConfigStatus
    )


class KubeadmConfigTemplate(OldObject, kw_only=True):
    """What KubeadmConfigs are made of."""

    RESOURCE: ClassVar[Resource] = Resource(
        "bootstrap.cluster.x-k8s.io", "v1beta1", "kubeadmconfigtemplates", "KubeadmConfigTemplate"
    )

    spec: Annotated[KubeadmConfigTemplateSpec, rules("The template as it is wanted.")] = field(
        default_factory=KubeadmConfigTemplateSpec
    )
