"""A container engine for one spec whose machines are containers.

It is the engine of `tests.real_clusters`, in network and mount namespaces of its own, into which
the runner goes before anything starts (`enter`).
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Final, NoReturn

from tests.real.specs import conformance, old_release
from tests.real.specs import parts as upstream
from tests.real.specs.catalogue import Spec
from tests.real.specs.downloads import complete_images
from tests.real_clusters import parts
from tests.real_clusters.engine import container_engine
from tests.real_clusters.managers_image import IMAGE, build_image

INSIDE: Final = "KAPY_SPECS_NAMESPACES"
"""Set in the namespaces."""
SOCKET: Final = Path("/run/docker.sock")
"""The path from which upstream's templates mount the engine's socket."""
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
NODES: Final = "kindest/node"
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
def containers(folder: Path, spec: Spec) -> Iterator[str]:
    """An engine for a spec; gives its address."""
    with _ONE, asyncio.Runner() as runner:
        runner.run(_have_digests(folder, tests=spec.conformance))
        context = container_engine(folder, dual_stack=spec.dual_stack)
        engine = runner.run(context.__aenter__())
        try:
            if spec.managers:
                runner.run(build_image(engine))
            if spec.conformance:
                runner.run(conformance.load_image(engine, folder))
            if spec.old:
                runner.run(old_release.load_images(engine, spec.old, folder))
            if SOCKET.is_dir():  # made for a container of a run that was killed
                SOCKET.rmdir()
            SOCKET.symlink_to(engine.address.removeprefix("unix://"))
            yield engine.address
        finally:
            SOCKET.unlink(missing_ok=True)
            runner.run(context.__aexit__(None, None, None))


async def _have_digests(folder: Path, *, tests: bool) -> None:
    """Let the images of nodes have the digests of kind's, which upstream's extension asks for.

    An engine has digests of what it pulled only, and reads its names when it starts.
    """
    async with container_engine(folder) as engine:
        await complete_images(engine, tests=tests)
    names = parts.CACHE / "engine" / "image" / "overlay2" / "repositories.json"
    mapping = upstream.source() / "test" / "infrastructure" / "kind" / "mapper.go"
    names.write_text(with_digests(names.read_text(), mapping.read_text()))


def with_digests(names: str, mapping: str) -> str:
    """An engine's names of images, with those of kind's that have a tag in common.

    names: the engine's file. mapping: a text that names images of kind with tag and digest.
    """
    document = json.loads(names)
    digests = document["Repositories"].get(NODES, {})
    for tag, digest in re.findall(rf"{NODES}:([\w.-]+)@(sha256:[0-9a-f]{{64}})", mapping):
        if image := digests.get(f"{NODES}:{tag}"):
            digests[f"{NODES}@{digest}"] = image
    return json.dumps(document)


def components(release: str) -> tuple[str, ...]:
    """The options of `kapy components` for managers in Pods."""
    socket = ("--engine-socket", f"/var{SOCKET}") if release == "infrastructure-dev" else ()
    return ("--image", IMAGE, *socket)


def images() -> list[dict[str, str]]:
    """The images of the configuration: that of kapy's managers."""
    return [{"name": IMAGE, "loadBehavior": "tryLoad"}]
