"""Components of the control plane that kubeadm runs as static Pods."""

from typing import Annotated, ClassVar

import msgspec
from msgspec import field

from kapy.api.env_vars import EnvVar
from kapy.kube import Document
from kapy.kube.model import Model, rules


class Arg(Model):
    """Arg is a command line argument of a component. The same name may occur several times."""

    name: Annotated[
        str,
        rules(
            "name is the name of the argument without leading dashes, for example v for the "
            "flag --v. It is case-sensitive.",
            min_length=1,
            max_length=256,
        ),
    ]
    value: Annotated[
        str,
        rules(
            "value is the value of the argument. It may be empty. Arguments with the same "
            "name are passed in the order of the list.",
            min_length=0,
            max_length=1024,
            zero="kept",
        ),
    ]


class HostPathMount(Model):
    """HostPathMount is a file or directory of the machine that is mounted into the Pod of a
    component.
    """

    name: Annotated[
        str,
        rules(
            "name is the name of the volume in the Pod. It must be unique in the list and "
            "differ from the volumes of kubeadm.",
            min_length=1,
            max_length=512,
        ),
    ]
    host_path: Annotated[
        str,
        rules(
            "hostPath is the path of the file or directory on the machine. pathType tells "
            "what must exist there.",
            min_length=1,
            max_length=512,
        ),
    ]
    mount_path: Annotated[
        str,
        rules(
            "mountPath is the path at which the file or directory appears in the Pod of the "
            "component.",
            min_length=1,
            max_length=512,
        ),
    ]
    read_only: Annotated[
        bool | None,
        rules(
            "readOnly mounts the volume without write access for the component. Defaults to false."
        ),
    ] = None
    path_type: Annotated[
        str,
        rules(
            "pathType tells what must exist at hostPath, or is created there. Values are "
            "those of hostPath volumes, for example DirectoryOrCreate, Directory, "
            "FileOrCreate and File. If it is not set, nothing is checked."
        ),
    ] = ""


def arguments(description: str, field_name: str) -> msgspec.Meta:
    """Return the rules of a list of arguments, each of which may be given once."""
    return rules(
        description,
        min_items=1,
        max_items=100,
        x_kubernetes_list_type="map",
        x_kubernetes_list_map_keys=["name", "value"],
        x_kubernetes_validations=[
            {
                "message": f"{field_name} name must be unique",
                "rule": "self.all(x, self.exists_one(y, x.name == y.name))",
            }
        ],
    )


ExtraArgs = Annotated[
    list[Arg],
    arguments(
        "extraArgs are command line arguments of the component that are added to those "
        "of kubeadm or replace them. At most 100 are allowed.",
        "extraArgs",
    ),
]


ExtraEnvs = Annotated[
    list[EnvVar] | None,
    rules(
        "extraEnvs are environment variables of the component's Pod. They require "
        "Kubernetes v1.31 or newer. At most 100 are allowed.",
        min_items=1,
        max_items=100,
        x_kubernetes_list_type="atomic",
    ),
]


class ControlPlaneComponent(Model):
    """ControlPlaneComponent configures a component of the control plane that runs as a static
    Pod.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    extra_args: ExtraArgs = field(default_factory=list)
    extra_volumes: Annotated[
        list[HostPathMount],
        rules(
            "extraVolumes are files and directories of the machine that are mounted into the "
            "Pod of the component. At most 100 are allowed.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    extra_envs: ExtraEnvs = None
