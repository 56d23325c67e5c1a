"""The description of a whole provider, by which it is run and released.

    PROVIDER = Provider(
        name="nimbus",
        kinds=(NimbusCluster, NimbusClusterTemplate, NimbusMachine, NimbusMachineTemplate),
        add_to=add_to,
        image="registry.example.com/nimbus/provider",
    )

`kapy up --provider MODULE` runs it in a management plane's process, `python -m MODULE` runs it
alone against any Kubernetes, and `python -m MODULE release` prints the files of a release.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NamedTuple

from kapy._aio.services import Service
from kapy.engine.runtime import Runtime
from kapy.kube.errors import KapyError
from kapy.kube.meta import Object
from kapy.sdk.admission import Rulebook
from kapy.sdk.console import MachineConsole

ProviderType = Literal["infrastructure", "bootstrap", "control-plane", "ipam"]

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


class BadProvider(KapyError):
    """The description of a provider is invalid; the message says what to change."""


class Setting(NamedTuple):
    """An environment variable that the provider reads.

    Users set a variable of the same name on installation. default: None if it is required.
    """

    name: str
    description: str
    default: str | None = None


class Right(NamedTuple):
    """A permission that the provider needs in addition to those that the SDK needs.

    names: the names of the only objects that it is for; () for all.
    """

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Provider:
    """The description of a provider, by which it is run and released.

    name: the part of the name after the type, as in `infrastructure-<name>`. kinds: its Structs,
    including templates. add_to: adds its controllers to a runtime and returns further tasks by
    name. It is called in the provider's process, and when a release is generated; it must not
    connect to anything. image: the repository of its container image, with the registry, without a
    tag. admission: the admission rules of its kinds. settings: the environment variables of its
    program. rights: its additional RBAC rules. series: the contract of each minor version, the
    newest last. files: the folder of its cluster templates and ClusterClasses, if any. console:
    constructs the console for users, if any.
    """

    name: str
    kinds: Sequence[type[Object]]
    add_to: Callable[[Runtime], Mapping[str, Service] | None]
    image: str
    type: ProviderType = "infrastructure"
    admission: Rulebook = field(default_factory=Rulebook)
    settings: Sequence[Setting] = ()
    rights: Sequence[Right] = ()
    series: Mapping[str, str] = field(default_factory=lambda: {"v0.1": "v1beta2"})
    files: Path | None = None
    console: Callable[[], MachineConsole] | None = None

    def __post_init__(self) -> None:
        """Validate the description. Raises BadProvider if it is invalid."""
        if not _NAME.fullmatch(self.name):
            raise BadProvider(
                f"{self.name!r} is no name of a provider: at most 63 of a-z, 0-9 and -, with a "
                "letter or digit first and last"
            )
        if "/" not in self.image:
            raise BadProvider(
                f"image {self.image!r} of provider {self.name} does not say of which registry it "
                "is: write it as registry.example.com/path"
            )

    @property
    def label(self) -> str:
        """The value of `cluster.x-k8s.io/provider`, and the folder of its releases."""
        return f"{self.type}-{self.name}"
