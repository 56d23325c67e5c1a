"""Generate boot data in the format of Ignition 2.3, as upstream does with Flatcar's transpiler.

`rendering` turns a machine's setup into a Container Linux Config, `config` turns that into an
Ignition config and merges in the translation of `ignition.containerLinuxConfig.additionalConfig`.
"""

from __future__ import annotations

import asyncio
from typing import Final

from kapy.kube import Document
from kapy.providers.kubeadm.bootstrap.cloudinit import MachineSetup
from kapy.providers.kubeadm.bootstrap.ignition.config import (
    CannotTranslate,
    as_go_json,
    merge_configs,
    translate,
)
from kapy.providers.kubeadm.bootstrap.ignition.rendering import CannotRender, container_linux_config

__all__ = [
    "CannotRender",
    "CannotTranslate",
    "user_data",
    "written",
]

_QUICK: Final = 8 << 10
"""Characters of a config that are translated within a few milliseconds, whatever they are."""


async def user_data(setup: MachineSetup, additions: Document, *configuration: str) -> str:
    """Return what `written` returns, without blocking the event loop."""
    base = _machine_config(setup, *configuration)
    if len(base) + len(additions.get("additionalConfig") or "") <= _QUICK:
        return _translate(base, additions)
    return await asyncio.to_thread(_translate, base, additions)


def render_user_data(setup: MachineSetup, additions: Document, *configuration: str) -> str:
    """Return the Ignition config of a machine that runs kubeadm.

    configuration: kubeadm's ClusterConfiguration and InitConfiguration for `kubeadm init`, or its
    JoinConfiguration for `kubeadm join`. additions: `ignition.containerLinuxConfig` of the
    KubeadmConfig. Raises CannotRender and CannotTranslate.
    """
    return _translate(_machine_config(setup, *configuration), additions)


def _machine_config(setup: MachineSetup, *configuration: str) -> str:
    subcommand = "join" if len(configuration) == 1 else "init"
    return container_linux_config(setup, subcommand, "\n---\n".join(configuration))


def _translate(base: str, additions: Document) -> str:
    what = "the Container Linux Config of the machine"
    # A text of the setup could begin another YAML document and hide everything after it.
    config = translate(base, what, strict=True, only=True).config
    if additional := additions.get("additionalConfig"):
        strict = bool(additions.get("strict"))
        what = "spec.ignition.containerLinuxConfig.additionalConfig"
        config = merge_configs(config, translate(additional, what, strict=strict).config)
    return as_go_json(config)
