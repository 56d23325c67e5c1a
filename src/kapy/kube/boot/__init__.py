"""Boot data of machines as steps, for programs that act in place of cloud-init or Ignition.

Pure: nothing is fetched, written or run. The size of untrusted input is limited, before and after
decompression.
"""

from collections.abc import Mapping
from typing import Final

from kapy.kube.boot import cloud_config, ignition
from kapy.kube.boot.containers import PREFLIGHT_ERRORS, for_containers
from kapy.kube.boot.steps import (
    STARTED,
    SUCCEEDED,
    BadBootData,
    BootPlan,
    RunCommand,
    Step,
    WriteFile,
    as_command,
    as_commands,
)

__all__ = [
    "FORMATS",
    "PREFLIGHT_ERRORS",
    "STARTED",
    "SUCCEEDED",
    "BadBootData",
    "BootPlan",
    "RunCommand",
    "Step",
    "WriteFile",
    "as_command",
    "as_commands",
    "for_containers",
    "read_boot_data",
]

FORMATS: Final = (cloud_config.FORMAT, ignition.FORMAT)


def read_boot_data(
    data: bytes,
    data_format: str = "",
    *,
    instance: Mapping[str, str] | None = None,
    system: bool = False,
) -> BootPlan:
    """Return the steps of boot data.

    data_format: the key `format` of a bootstrap Secret; the empty one is cloud-config. instance:
    metadata of the machine (`local_hostname`, `instance_id`) for variables in a cloud-config.
    system: whether users, NTP servers, disks and mounts of a cloud-config become steps, too; else
    they are among the sections that are not applied. Raises BadBootData. Reading can take a second
    per megabyte; `boot_plan` of `kapy.sdk.boot` does it beside the event loop.
    """
    if data_format in ("", cloud_config.FORMAT):
        return cloud_config.read_cloud_config(data, instance, system=system)
    if data_format == ignition.FORMAT:
        return ignition.read_ignition(data)
    raise BadBootData(
        f'format "{data_format}" of the boot data is not known; use cloud-config or ignition'
    )
