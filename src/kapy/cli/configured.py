"""The configuration that a command works with."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kapy.cli.flags import persistent

if TYPE_CHECKING:
    from kapy.clusterctl.config import Config


def config() -> Config:
    """What `--config`, or else the file in the usual place, and the environment say.

    Raises ConfigError.
    """
    from kapy.clusterctl.config import load

    return load(persistent().config or None, os.environ)
