"""Bugs of boot data: written, and read into steps."""

from __future__ import annotations

from typing import Final

from tests.mutations.mutation import Mutation

CLOUD_INIT: Final = ("tests/kube/boot/test_cloud_init.py",)
CLOUD_CONFIG: Final = ("tests/kube/boot/test_cloud_config.py",)
CONTAINERS: Final = ("tests/kube/boot/test_upstream.py",)
WRITTEN: Final = ("tests/providers/kubeadm/test_written_boot_data.py",)
IGNITION: Final = "providers/kubeadm/bootstrap/ignition"

BOOT_DATA: Final = (
    Mutation(
        "files that are appended to are replaced",
        "kube/boot/steps.py",
        'redirect=">>" if step.append else ">"',
        'redirect=">"',
        CLOUD_INIT,
    ),
    Mutation(
        "files that are appended to together are replaced",
        "kube/boot/steps.py",
        '"append" if file.append else ""',
        '""',
        CLOUD_INIT,
    ),
    Mutation(
        "a colon after the owner gives the file to the owner's group",
        "kube/boot/cloud_config.py",
        'owner.removesuffix(":")',
        "owner",
        CLOUD_INIT,
    ),
    Mutation(
        "deferred files are written before the others",
        "kube/boot/cloud_config.py",
        "*(step for step, deferred in written if not deferred)",
        "*(step for step, deferred in written if deferred)",
        CLOUD_CONFIG,
    ),
    Mutation(
        "contents of files are not counted together",
        "kube/boot/contents.py",
        "self.remaining -= size",
        "self.remaining -= 0",
        CLOUD_CONFIG,
    ),
    Mutation(
        "kube-proxy sets the host's sysctls",
        "kube/boot/containers.py",
        "kube_proxy * (step.path == _INIT_FILE)",
        'b""',
        CONTAINERS,
    ),
    Mutation(
        "settings of the kubelet that a user gave win",
        "kube/boot/containers.py",
        'ours.get(str(argument.get("name")), argument.get("value"))',
        'argument.get("value")',
        CONTAINERS,
    ),
    Mutation(
        "additions come before what they are added to",
        f"{IGNITION}/config.py",
        "return [*first, *second]",
        "return [*second, *first]",
        WRITTEN,
    ),
    Mutation(
        "unknown keys of a strict config are ignored",
        f"{IGNITION}/config.py",
        "reader.warnings if strict else []",
        "[]",
        WRITTEN,
    ),
    Mutation(
        "NTP that is not enabled is left out",
        f"{IGNITION}/rendering.py",
        'setup.ntp.get("enabled") is not None',
        'bool(setup.ntp.get("enabled"))',
        WRITTEN,
    ),
    Mutation(
        "another document cuts off the config",
        f"{IGNITION}/__init__.py",
        "strict=True, only=True",
        "strict=True",
        WRITTEN,
    ),
    Mutation(
        "a unit without Install is not noticed",
        f"{IGNITION}/checks.py",
        'return bool(sections) and "Install" not in sections',
        "return False",
        WRITTEN,
    ),
)
