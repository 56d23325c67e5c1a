"""The keys of a Container Linux Config. `etcd` and `flannel` are refused by name."""

from __future__ import annotations

from typing import Final

from kapy.providers.kubeadm.bootstrap.ignition.nodes import Kind, Record, Sequence

_VERIFICATION: Final = Record({"hash": Record({"function": "string", "sum": "string"})})
_REFERENCE: Final = Record({"source": "string", "verification": _VERIFICATION})
_DROP_INS: Final = Sequence(Record({"name": "string", "contents": "string"}))
_TEXTS: Final = Sequence("string")
_ACCOUNT: Final = Record({"id": "int", "name": "string"})
_NODE: Final[dict[str, Kind]] = {
    "filesystem": "string",
    "path": "string",
    "user": _ACCOUNT,
    "group": _ACCOUNT,
    "overwrite": "bool",
}
_FILE: Final = Record(
    {
        **_NODE,
        "mode": "int",
        "append": "bool",
        "contents": Record(
            {
                "remote": Record(
                    {"url": "string", "compression": "string", "verification": _VERIFICATION}
                ),
                "inline": "content",
                "local": "string",
            }
        ),
    }
)
_PARTITION: Final = Record(
    {
        "label": "string",
        "number": "int",
        "size": "string",
        "start": "string",
        "guid": "string",
        "type_guid": "string",
    }
)
_MOUNT: Final = Record(
    {
        "device": "string",
        "format": "string",
        "create": Record({"force": "bool", "options": _TEXTS}),
        "wipe_filesystem": "bool",
        "label": "string",
        "uuid": "string",
        "options": _TEXTS,
    }
)
_STORAGE: Final = Record(
    {
        "disks": Sequence(
            Record(
                {"device": "string", "wipe_table": "bool", "partitions": Sequence(_PARTITION)},
            )
        ),
        "raid": Sequence(
            Record(
                {
                    "name": "string",
                    "level": "string",
                    "devices": _TEXTS,
                    "spares": "int",
                    "options": _TEXTS,
                }
            )
        ),
        "filesystems": Sequence(Record({"name": "string", "mount": _MOUNT, "path": "string"})),
        "files": Sequence(_FILE),
        "directories": Sequence(Record({**_NODE, "mode": "int"})),
        "links": Sequence(Record({**_NODE, "hard": "bool", "target": "string"})),
    }
)
_USER: Final[dict[str, Kind]] = {
    "gecos": "string",
    "home_dir": "string",
    "no_create_home": "bool",
    "primary_group": "string",
    "groups": _TEXTS,
    "no_user_group": "bool",
    "system": "bool",
    "no_log_init": "bool",
    "shell": "string",
}
_PASSWD: Final = Record(
    {
        "users": Sequence(
            Record(
                {
                    **_USER,
                    "name": "string",
                    "password_hash": "string",
                    "ssh_authorized_keys": _TEXTS,
                    "uid": "int",
                    "create": Record({**_USER, "uid": "uint"}),
                }
            )
        ),
        "groups": Sequence(
            Record({"name": "string", "gid": "uint", "password_hash": "string", "system": "bool"})
        ),
    }
)
_IGNITION: Final = Record(
    {
        "config": Record({"append": Sequence(_REFERENCE), "replace": _REFERENCE}),
        "timeouts": Record({"http_response_headers": "int", "http_total": "int"}),
        "security": Record(
            {"tls": Record({"certificate_authorities": Sequence(_REFERENCE)})},
        ),
    }
)
LOCKSMITH_FIELDS: Final = {
    "reboot_strategy": "REBOOT_STRATEGY",
    "window_start": "LOCKSMITHD_REBOOT_WINDOW_START",
    "window_length": "LOCKSMITHD_REBOOT_WINDOW_LENGTH",
    "group": "LOCKSMITHD_GROUP",
    "etcd_endpoints": "LOCKSMITHD_ENDPOINT",
    "etcd_cafile": "LOCKSMITHD_ETCD_CAFILE",
    "etcd_certfile": "LOCKSMITHD_ETCD_CERTFILE",
    "etcd_keyfile": "LOCKSMITHD_ETCD_KEYFILE",
}
UPDATE_FIELDS: Final = {
    "group": "GROUP",
    "server": "SERVER",
    "pcr_policy_server": "PCR_POLICY_SERVER",
    "download_user": "DOWNLOAD_USER",
    "download_password": "DOWNLOAD_PASSWORD",
    "machine_alias": "MACHINE_ALIAS",
}
NOT_SUPPORTED: Final = ("etcd", "flannel")
CONFIG: Final = Record(
    {
        "version": "int",
        "ignition": _IGNITION,
        "storage": _STORAGE,
        "systemd": Record(
            {
                "units": Sequence(
                    Record(
                        {
                            "name": "string",
                            "enable": "bool",
                            "enabled": "bool",
                            "mask": "bool",
                            "contents": "string",
                            "dropins": _DROP_INS,
                        }
                    )
                )
            }
        ),
        "networkd": Record(
            {
                "units": Sequence(
                    Record({"name": "string", "contents": "string", "dropins": _DROP_INS})
                )
            }
        ),
        "passwd": _PASSWD,
        "docker": Record({"flags": _TEXTS}),
        "update": Record(dict.fromkeys(UPDATE_FIELDS, "string")),
        "locksmith": Record(dict.fromkeys(LOCKSMITH_FIELDS, "string")),
    }
)
