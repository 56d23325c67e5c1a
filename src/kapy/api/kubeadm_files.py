"""Files, users and time servers of a machine that kubeadm sets up."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.kube import Document
from kapy.kube.model import Model, rules


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
