"""The dependencies, inputs and results of one reconcile of an ExtensionConfig."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from random import Random

from kapy._aio.clock import Clock
from kapy.api.extension_config import ExtensionConfig
from kapy.client.client import Client
from kapy.engine.cache import Informer
from kapy.engine.draft import Draft
from kapy.hooks.caller import Caller
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The dependencies of the ExtensionConfig reconciler.

    failures: consecutive failures of discovery, by key.
    """

    client: Client
    configs: Informer[Document]
    caller: Caller
    clock: Clock
    random: Random
    failures: dict[Key, int] = field(default_factory=dict)


@dataclass(slots=True)
class ConfigScope:
    """The state of one reconcile of an ExtensionConfig. undiscovered: the error because of which
    its handlers are not known.
    """

    dependencies: Dependencies
    draft: Draft[ExtensionConfig]
    now: datetime
    undiscovered: KapyError | None = None

    @property
    def config(self) -> ExtensionConfig:
        return self.draft.object
