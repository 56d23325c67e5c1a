"""Partitions and filesystems of a machine that kubeadm sets up."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.kube import Document
from kapy.kube.model import Model, rules


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
