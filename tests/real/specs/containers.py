"""A container engine for one spec whose machines are containers.

It is the engine of `tests.real_clusters`, in network and mount namespaces of its own, into which
the runner goes before anything starts (`enter`).
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Final, NoReturn

from tests.real.specs.downloads import complete_images
from tests.real_clusters import parts
from tests.real_clusters.engine import container_engine
from tests.real_clusters.managers_image import IMAGE, build_image

INSIDE: Final = "KAPY_SPECS_NAMESPACES"
"""Set in the namespaces."""
SOCKET: Final = Path("/run/docker.sock")
"""Where upstream's templates mount the engine's socket from."""
NETWORK: Final = parts.HERE / "network.yaml"
VARIABLES: Final = {
    "KUBERNETES_VERSION": parts.NEW.version,
    "KUBERNETES_VERSION_UPGRADE_FROM": parts.OLD.version,
    "KUBERNETES_VERSION_UPGRADE_TO": parts.NEW.version,
    "ETCD_VERSION_UPGRADE_TO": parts.NEW.etcd,
    "COREDNS_VERSION_UPGRADE_TO": parts.NEW.coredns,
    "DOCKER_PRELOAD_IMAGES": "[]",
    "CNI": str(NETWORK),
}
"""The variables of upstream's configuration that name versions and images: those there are."""
_ONE: Final = Lock()
"""An engine at a time."""


def is_inside() -> bool:
    """Whether this process is in namespaces of its own."""
    return INSIDE in os.environ


def enter(*, clusters: bool) -> NoReturn:
    """Run this program again in namespaces of its own. clusters: build what real ones need."""
    if clusters:
        parts.main()
    script = 'ip link set lo up && mount -t tmpfs tmpfs /run && exec "$@"'
    command = ["unshare", "--net", "--mount", "--propagation", "slave", "sh", "-ec", script, "sh"]
    command += [sys.executable, "-m", "tests.real.specs", *sys.argv[1:]]
    os.execvpe(command[0], command, {**os.environ, INSIDE: "true"})


@contextmanager
def containers(folder: Path, *, managers: bool) -> Iterator[str]:
    """An engine; gives its address. managers: with the image of kapy's managers."""
    with _ONE, asyncio.Runner() as runner:
        context = container_engine(folder)
        engine = runner.run(context.__aenter__())
        try:
            runner.run(complete_images(engine))
            if managers:
                runner.run(build_image(engine))
            if SOCKET.is_dir():  # made for a container of a run that was killed
                SOCKET.rmdir()
            SOCKET.symlink_to(engine.address.removeprefix("unix://"))
            yield engine.address
        finally:
            SOCKET.unlink(missing_ok=True)
            runner.run(context.__aexit__(None, None, None))


def components(release: str) -> tuple[str, ...]:
    """The options of `kapy components` for managers in Pods."""
    socket = ("--engine-socket", f"/var{SOCKET}") if release == "infrastructure-dev" else ()
    return ("--image", IMAGE, *socket)


def images() -> list[dict[str, str]]:
    """The images of the configuration: that of kapy's managers."""
    return [{"name": IMAGE, "loadBehavior": "tryLoad"}]
