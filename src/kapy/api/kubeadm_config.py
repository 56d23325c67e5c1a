"""KubeadmConfig(Template): how a machine becomes a Node with kubeadm."""

from typing import Annotated, ClassVar

import msgspec
from msgspec import field

from kapy.api.embedded import TemplateMeta
from kapy.api.kubeadm import ClusterConfiguration
from kapy.api.kubeadm_disks import DiskSetup
from kapy.api.kubeadm_files import NTP, File, IgnitionSpec, User
from kapy.api.kubeadm_node import InitConfiguration, JoinConfiguration
from kapy.api.status import Conditions, ObservedGeneration, V1Beta1Conditions
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource

Command = Annotated[str, rules(min_length=1, max_length=10240)]


def _commands(description: str) -> msgspec.Meta:
    """Return the rules of a field that holds a list of commands."""
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
