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
    """Filesystem is a filesystem that is created on a disk."""

    device: Annotated[
        str,
        rules(
            "device is the path of the device on which the filesystem is created, for "
            "example /dev/disk/azure/scsi1/lun0.",
            min_length=1,
            max_length=256,
        ),
    ]
    filesystem: Annotated[
        str,
        rules(
            "filesystem is the type of the filesystem, for example ext4 or xfs. The program "
            "mkfs for it must exist on the machine.",
            min_length=1,
            max_length=128,
        ),
    ]
    label: Annotated[
        str,
        rules(
            "label is the label of the filesystem. If it is not set, the filesystem has none.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    partition: Annotated[
        str,
        rules(
            "partition selects the partition of the device. Values are auto, any, none or "
            "the number of a partition. It is not supported if format is ignition.",
            min_length=1,
            max_length=128,
        ),
    ] = ""
    overwrite: Annotated[
        bool | None,
        rules(
            "overwrite tells whether an existing filesystem is replaced. Existing data are "
            "lost then. Defaults to false."
        ),
    ] = None
    replace_fs: Annotated[
        str,
        rules(
            "replaceFS is the type of the existing filesystem that may be replaced. It is "
            "used on Microsoft Azure. It is not supported if format is ignition.",
            min_length=1,
            max_length=128,
        ),
    ] = field(default="", name="replaceFS")
    extra_opts: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(
            "extraOpts are additional options of the command that creates the filesystem. At "
            "most 100 are allowed.",
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


class PartitionSpec(Model):
    """PartitionSpec is one partition of a disk."""

    percentage: Annotated[
        int,
        rules(
            "percentage is the share of the disk that the partition takes, as a percentage. "
            "Allowed values are 1 to 100. All shares of a disk together must not exceed 100.",
            format="int32",
            minimum=1,
            maximum=100,
        ),
    ]
    partition_type: Annotated[
        str,
        rules(
            "partitionType is the type of the partition as a hexadecimal number or GUID. If "
            "it is not set, it defaults to a Linux filesystem.",
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
    """Partition describes the partitions of one disk."""

    SCHEMA: ClassVar[Document] = {
        "x-kubernetes-validations": [
            {
                "message": "exactly one of the fields in [layout diskLayout] must be set",
                "rule": ("[has(self.layout),has(self.diskLayout)].filter(x,x==true).size() == 1"),
            }
        ]
    }

    device: Annotated[
        str,
        rules(
            "device is the path of the disk that is partitioned, for example /dev/sdb.",
            min_length=1,
            max_length=256,
        ),
    ]
    layout: Annotated[
        bool | None,
        rules(
            "layout tells whether one partition takes the whole disk. Only diskLayout "
            "creates several partitions."
        ),
    ] = None
    overwrite: Annotated[
        bool | None,
        rules(
            "overwrite skips the check for existing partitions and filesystems. Existing "
            "data are lost then. Defaults to false."
        ),
    ] = None
    table_type: Annotated[
        str,
        rules(
            "tableType is the type of the partition table. Allowed values are mbr and gpt. "
            "If it is not set, it defaults to mbr. Only gpt is supported if format is "
            "ignition.",
            enum=["mbr", "gpt"],
        ),
    ] = ""
    disk_layout: Annotated[
        list[PartitionSpec],
        rules(
            "diskLayout are the partitions of the disk in order, each with its share of the "
            "disk. At most 100 are allowed.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


class DiskSetup(Model):
    """DiskSetup configures partitions and filesystems that are created at boot."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    partitions: Annotated[
        list[Partition],
        rules(
            "partitions are the disks that are partitioned, each with its layout. At most "
            "100 are allowed.",
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    filesystems: Annotated[
        list[Filesystem],
        rules(
            "filesystems are the filesystems that are created on disks or partitions. At "
            "most 100 are allowed.",
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


class SecretKey(Model):
    """SecretKey is a reference to one key of a Secret in the same namespace."""

    name: Annotated[
        str,
        rules(
            "name is the name of the Secret. The Secret must be in the same namespace. It "
            "must exist before the bootstrap data are generated.",
            min_length=1,
            max_length=253,
        ),
    ]
    key: Annotated[
        str,
        rules(
            "key is the key in the data of the Secret. Its decoded value is used.",
            min_length=1,
            max_length=256,
        ),
    ]


class SecretSource(Model):
    """SecretSource is the source of a confidential value."""

    secret: Annotated[
        SecretKey,
        rules(
            "secret is a reference to a key of a Secret that holds the value. The value "
            "becomes part of the bootstrap data."
        ),
    ]


class File(Model):
    """File is a file that is written to the machine before kubeadm runs. content and
    contentFrom must not be set together.
    """

    path: Annotated[
        str,
        rules(
            "path is the absolute path of the file on the machine. Missing directories are "
            "created. It must be unique in the list.",
            min_length=1,
            max_length=512,
        ),
    ]
    owner: Annotated[
        str,
        rules(
            "owner is the owner of the file, for example root:root. If it is not set, it "
            "defaults to root:root.",
            min_length=1,
            max_length=256,
        ),
    ] = ""
    permissions: Annotated[
        str,
        rules(
            "permissions are the permissions of the file in octal notation, for example 0640.",
            min_length=1,
            max_length=16,
        ),
    ] = ""
    encoding: Annotated[
        str,
        rules(
            "encoding is the encoding of the content. Allowed values are base64, gzip and "
            "gzip+base64. If it is not set, the content is plain text. Only base64 is "
            "supported if format is ignition.",
            enum=["base64", "gzip", "gzip+base64"],
        ),
    ] = ""
    append: Annotated[
        bool | None,
        rules(
            "append tells whether the content is appended to an existing file. Defaults to "
            "false, with which the file is replaced."
        ),
    ] = None
    content: Annotated[
        str,
        rules(
            "content is the content of the file. It must not be set together with "
            "contentFrom. At most 10240 characters are allowed.",
            min_length=1,
            max_length=10240,
        ),
    ] = ""
    content_from: Annotated[
        SecretSource | None,
        rules(
            "contentFrom is the source of the content of the file. It must not be set "
            "together with content.",
            zero="omitted",
        ),
    ] = None
    content_format: Annotated[
        str,
        rules(
            "contentFormat tells how the content is processed. Allowed values are Raw and "
            "Template. With Raw it is written as it is. With Template it is rendered as a "
            "template first. Defaults to Raw.",
            enum=["Raw", "Template"],
        ),
    ] = ""


class ContainerLinuxConfig(Model):
    """ContainerLinuxConfig is additional configuration in the format of Container Linux Config."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    additional_config: Annotated[
        str,
        rules(
            "additionalConfig is configuration in YAML that is merged into the generated "
            "one. At most 32768 characters are allowed.",
            min_length=1,
            max_length=32768,
        ),
    ] = ""
    strict: Annotated[
        bool | None,
        rules(
            "strict tells whether warnings of the configuration's parser are errors. "
            "Defaults to false."
        ),
    ] = None


class IgnitionSpec(Model):
    """IgnitionSpec configures bootstrap data in the format of Ignition."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    container_linux_config: Annotated[
        ContainerLinuxConfig,
        rules(
            "containerLinuxConfig is additional configuration in the format of Container "
            "Linux Config."
        ),
    ] = field(default_factory=ContainerLinuxConfig)


class NTP(Model):
    """NTP configures the time synchronization of a machine."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    servers: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=512)]],
        rules(
            "servers are the host names or IP addresses of NTP servers. At most 100 are allowed.",
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    enabled: Annotated[
        bool | None,
        rules(
            "enabled tells whether the machine synchronizes its time by NTP. If it is not "
            "set, the image of the machine decides."
        ),
    ] = None


class User(Model):
    """User is a user account that is created on the machine. passwd and passwdFrom must not be
    set together.
    """

    name: Annotated[
        str,
        rules(
            "name is the login name of the user. A user that exists already is not created again.",
            min_length=1,
            max_length=256,
        ),
    ]
    gecos: Annotated[
        str,
        rules(
            "gecos is the comment of the account in /etc/passwd, usually the full name of "
            "the user.",
            min_length=1,
            max_length=256,
        ),
    ] = ""
    groups: Annotated[
        str,
        rules(
            "groups are additional groups of the user, separated by commas, for example "
            "wheel, docker.",
            min_length=1,
            max_length=256,
        ),
    ] = ""
    home_dir: Annotated[
        str,
        rules(
            "homeDir is the home directory of the user. If it is not set, the operating "
            "system selects it.",
            min_length=1,
            max_length=256,
        ),
    ] = ""
    inactive: Annotated[
        bool | None,
        rules(
            "inactive tells whether the account is disabled. Defaults to false. It is not "
            "supported if format is ignition."
        ),
    ] = None
    shell: Annotated[
        str,
        rules(
            "shell is the path of the login shell of the user. If it is not set, the "
            "operating system selects it.",
            min_length=1,
            max_length=256,
        ),
    ] = ""
    passwd: Annotated[
        str,
        rules(
            "passwd is the hash of the password. It must not be set together with passwdFrom.",
            min_length=1,
            max_length=256,
        ),
    ] = ""
    passwd_from: Annotated[
        SecretSource | None,
        rules(
            "passwdFrom is the source of the hash of the password. It must not be set "
            "together with passwd.",
            zero="omitted",
        ),
    ] = None
    primary_group: Annotated[
        str,
        rules(
            "primaryGroup is the primary group of the user. If it is not set, a group with "
            "the name of the user is created.",
            min_length=1,
            max_length=256,
        ),
    ] = ""
    lock_password: Annotated[
        bool | None,
        rules(
            "lockPassword tells whether login with the password is disabled. If it is not "
            "set, cloud-init disables it."
        ),
    ] = None
    sudo: Annotated[
        str,
        rules(
            "sudo is the rule of the user for sudo, for example ALL=(ALL) NOPASSWD:ALL. If "
            "it is not set, the user gets no rule.",
            min_length=1,
            max_length=256,
        ),
    ] = ""
    ssh_authorized_keys: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=2048)]],
        rules(
            "sshAuthorizedKeys are the public SSH keys with which the user may log in. At "
            "most 100 are allowed.",
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


Command = Annotated[str, rules(min_length=1, max_length=10240)]


def _commands(description: str) -> msgspec.Meta:
    """The rules of a list of commands."""
    return rules(description, min_items=1, max_items=1000, x_kubernetes_list_type="atomic")


class KubeadmConfigSpec(Model):
    """KubeadmConfigSpec is the desired content of the bootstrap data of a machine."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    cluster_configuration: Annotated[
        ClusterConfiguration,
        rules(
            "clusterConfiguration is the configuration of kubeadm that is common to all "
            "machines of the cluster. It is used by the first control plane machine. In a "
            "KubeadmControlPlane a change rolls out new machines, except for dns."
        ),
    ] = field(default_factory=ClusterConfiguration)
    init_configuration: Annotated[
        InitConfiguration,
        rules(
            "initConfiguration is the configuration of kubeadm init, which runs on the first "
            "control plane machine. In a KubeadmControlPlane a change alone causes no "
            "rollout of machines that have joined. The machine that ran kubeadm init is "
            "replaced by a rollout if joinConfiguration asks for something else, too."
        ),
    ] = field(default_factory=InitConfiguration)
    join_configuration: Annotated[
        JoinConfiguration,
        rules(
            "joinConfiguration is the configuration of kubeadm join, which runs on all "
            "machines but the first. In a KubeadmControlPlane a change rolls out new "
            "machines, except for discovery and for "
            "timeouts.controlPlaneComponentHealthCheckSeconds."
        ),
    ] = field(default_factory=JoinConfiguration)
    files: Annotated[
        list[File],
        rules(
            "files are written to the machine before kubeadm runs. At most 200 are allowed. "
            "In a KubeadmControlPlane a change rolls out new machines.",
            min_items=1,
            max_items=200,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    disk_setup: Annotated[
        DiskSetup,
        rules(
            "diskSetup configures partitions and filesystems that are created at boot. In a "
            "KubeadmControlPlane a change rolls out new machines."
        ),
    ] = field(default_factory=DiskSetup)
    mounts: Annotated[
        list[
            Annotated[
                list[Annotated[str, rules(min_length=1, max_length=512)]],
                rules(min_items=1, max_items=100),
            ]
        ],
        rules(
            "mounts are mount points. Each is a list of the fields of a line of fstab. At "
            "most 100 are allowed. In a KubeadmControlPlane a change rolls out new machines.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    boot_commands: Annotated[
        list[Command],
        _commands(
            "bootCommands are shell commands that run early at each boot. They are not "
            "supported if format is ignition. At most 1000 are allowed. In a "
            "KubeadmControlPlane a change rolls out new machines."
        ),
    ] = field(default_factory=list)
    pre_kubeadm_commands: Annotated[
        list[Command],
        _commands(
            "preKubeadmCommands are shell commands that run before kubeadm. At most 1000 are "
            "allowed. In a KubeadmControlPlane a change rolls out new machines."
        ),
    ] = field(default_factory=list)
    post_kubeadm_commands: Annotated[
        list[Command],
        _commands(
            "postKubeadmCommands are shell commands that run after kubeadm. At most 1000 are "
            "allowed. In a KubeadmControlPlane a change rolls out new machines."
        ),
    ] = field(default_factory=list)
    users: Annotated[
        list[User],
        rules(
            "users are user accounts that are created on the machine. At most 100 are "
            "allowed. In a KubeadmControlPlane a change rolls out new machines.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    ntp: Annotated[
        NTP,
        rules(
            "ntp configures the time synchronization of the machine. In a "
            "KubeadmControlPlane a change rolls out new machines."
        ),
    ] = field(default_factory=NTP)
    format: Annotated[
        str,
        rules(
            "format is the format of the bootstrap data. Allowed values are cloud-config and "
            "ignition. Defaults to cloud-config. ignition requires the feature gate "
            "KubeadmBootstrapFormatIgnition. In a KubeadmControlPlane a change rolls out new "
            "machines.",
            enum=["cloud-config", "ignition"],
        ),
    ] = ""
    verbosity: Annotated[
        int | None,
        rules(
            "verbosity is the log level of kubeadm, from 0 to 10. It becomes the flag --v. "
            "In a KubeadmControlPlane a change rolls out new machines.",
            format="int32",
        ),
    ] = None
    ignition: Annotated[
        IgnitionSpec,
        rules(
            "ignition configures bootstrap data in the format of Ignition. It must not be "
            "set unless format is ignition. In a KubeadmControlPlane a change rolls out new "
            "machines."
        ),
    ] = field(default_factory=IgnitionSpec)


class KubeadmConfigV1Beta1DeprecatedStatus(Model):
    """KubeadmConfigV1Beta1DeprecatedStatus groups the status fields of a KubeadmConfig in
    v1beta1 that v1beta2 does not have.
    """

    conditions: V1Beta1Conditions = field(default_factory=list)
    failure_reason: Annotated[
        str,
        rules(
            same_as="MachineSetV1Beta1DeprecatedStatus.failureReason",
            min_length=1,
            max_length=256,
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


class KubeadmConfigDeprecatedStatus(Model):
    """KubeadmConfigDeprecatedStatus groups the status fields of a KubeadmConfig in older API
    versions.
    """

    v1beta1: Annotated[
        KubeadmConfigV1Beta1DeprecatedStatus | None, rules(same_as="DeprecatedConditions.v1beta1")
    ] = None


class KubeadmConfigInitializationStatus(Model):
    """KubeadmConfigInitializationStatus records the milestones of a KubeadmConfig. A milestone
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


class KubeadmConfigStatus(Model):
    """KubeadmConfigStatus is the observed state of a KubeadmConfig."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Annotated[
        Conditions,
        rules(
            "conditions are the observations of the KubeadmConfig's current state. Types are "
            "Ready, DataSecretAvailable, CertificatesAvailable and Paused."
        ),
    ] = field(default_factory=list)
    initialization: Annotated[
        KubeadmConfigInitializationStatus,
        rules(
            "initialization records the milestones of the KubeadmConfig. The Machine "
            "controller reads it."
        ),
    ] = field(default_factory=KubeadmConfigInitializationStatus)
    data_secret_name: Annotated[
        str,
        rules(
            "dataSecretName is the name of the Secret with the bootstrap data.",
            min_length=1,
            max_length=253,
        ),
    ] = ""
    observed_generation: ObservedGeneration = 0
    deprecated: Annotated[
        KubeadmConfigDeprecatedStatus | None,
        rules(same_as="MachineHealthCheckStatus.deprecated"),
    ] = None


class KubeadmConfigTemplateResource(Model):
    """KubeadmConfigTemplateResource describes the KubeadmConfigs that are created from a
    template.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    metadata: Annotated[
        TemplateMeta, rules("metadata are the labels and annotations of the KubeadmConfigs.")
    ] = field(default_factory=TemplateMeta)
    spec: Annotated[
        KubeadmConfigSpec,
        rules(
            "spec is the desired content of the bootstrap data. A change has no effect on "
            "existing machines. To roll out new machines, create another template and refer "
            "to it."
        ),
    ] = field(default_factory=KubeadmConfigSpec)


class KubeadmConfigTemplateSpec(Model):
    """KubeadmConfigTemplateSpec is the desired state of a KubeadmConfigTemplate."""

    template: Annotated[
        KubeadmConfigTemplateResource,
        rules("template describes the KubeadmConfigs that are created.", required=True),
    ] = field(default_factory=KubeadmConfigTemplateResource)


class KubeadmConfig(Object, kw_only=True):
    """KubeadmConfig generates the bootstrap data with which kubeadm turns one machine into a
    Node.
    """

    RESOURCE: ClassVar[Resource] = Resource(
        "bootstrap.cluster.x-k8s.io", "v1beta2", "kubeadmconfigs", "KubeadmConfig"
    )

    spec: Annotated[
        KubeadmConfigSpec,
        rules(
            "spec is the desired content of the bootstrap data. A change has no effect after "
            "the bootstrap data have been generated."
        ),
    ] = field(default_factory=KubeadmConfigSpec)
    status: Annotated[
        KubeadmConfigStatus,
        rules(
            "status is the observed state of the KubeadmConfig. The kubeadm bootstrap "
            "provider writes it."
        ),
    ] = field(default_factory=KubeadmConfigStatus)


class KubeadmConfigTemplate(Object, kw_only=True):
    """KubeadmConfigTemplate is a template from which KubeadmConfigs are created."""

    RESOURCE: ClassVar[Resource] = Resource(
        "bootstrap.cluster.x-k8s.io", "v1beta2", "kubeadmconfigtemplates", "KubeadmConfigTemplate"
    )

    spec: Annotated[
        KubeadmConfigTemplateSpec, rules("spec is the desired state of the KubeadmConfigTemplate.")
    ] = field(default_factory=KubeadmConfigTemplateSpec)
