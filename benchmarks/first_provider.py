"""From nothing to the first provider that is ready: `kapy up` and `kapy init`, beside the same with
kube-apiserver and etcd, where KUBEBUILDER_ASSETS names them.

The provider is kapy's own of machines in memory, installed from a release in a folder, and runs as
a process. On the plane core and kubeadm are built in; beside kube-apiserver they are installed and
started, too, as processes of their own, because nothing runs Pods there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from kapy import CLUSTER_API
from kapy.client.kubeconfig import Kubeconfig, with_context
from kapy.kube.yaml import dump

Row = dict[str, Any]
_KAPY: Final = str(Path(sys.executable).with_name("kapy"))
_MANAGERS: Final = {
    "core": ("cluster-api", "CoreProvider", "--core"),
    "bootstrap-kubeadm": ("kubeadm", "BootstrapProvider", "--bootstrap"),
    "control-plane-kubeadm": ("kubeadm", "ControlPlaneProvider", "--control-plane"),
    "infrastructure-dev": ("docker", "InfrastructureProvider", "--infrastructure"),
}
_ASSETS: Final = "KUBEBUILDER_ASSETS"


async def compared() -> list[Row]:
    """Both, one after the other."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        environ = {**os.environ, "HOME": home, "KAPY_HOME": home, "KUBECONFIG": f"{home}/config"}
        config = _release(folder, environ)
        rows = _on_a_plane(config, environ)
        if os.environ.get(_ASSETS):
            rows += _on_kubernetes(folder, config, environ)
        return rows


def _release(folder: Path, environ: dict[str, str]) -> Path:
    """A release of kapy's managers; the configuration that names it."""
    providers = []
    for manager, (name, kind, _) in _MANAGERS.items():
        message = _kapy(environ, "components", manager, "--release", str(folder / "release"))
        url = next(line for line in message.splitlines() if line.endswith("-components.yaml"))
        providers.append({"name": name, "type": kind, "url": f"file://{url}"})
    path = folder / "clusterctl.yaml"
    path.write_text(dump({"providers": providers}))
    return path


def _on_a_plane(config: Path, environ: dict[str, str]) -> list[Row]:
    began = time.perf_counter()
    # The first `--without` is what makes the built-in provider one that is installed.
    _kapy(environ, "up", "--detach", "--port=0", "--without=infrastructure-dev")
    up = time.perf_counter()
    try:
        _kapy(
            environ,
            *("--config", str(config), "init", "--wait-providers"),
            *(
                "--infrastructure",
                f"docker:{CLUSTER_API}",
                "--run",
                f"infrastructure-docker={_KAPY}",
            ),
        )
        ready = time.perf_counter()
        status = json.loads(_kapy(environ, "status", "-o", "json"))
        assert [pod["state"] for pod in status["pods"]] == ["Running"], status
    finally:
        _kapy(environ, "down")
    return [
        {"step": "kapy up: the API server", "wall_s": round(up - began, 2)},
        {"step": "kapy up: the first provider ready", "wall_s": round(ready - began, 2)},
    ]


def _on_kubernetes(folder: Path, config: Path, environ: dict[str, str]) -> list[Row]:
    from tests.real.servers import kubernetes

    place = folder / "kubernetes"
    place.mkdir()
    began = time.perf_counter()
    with ExitStack() as stack:
        access = stack.enter_context(kubernetes(Path(os.environ[_ASSETS]), place))
        up = time.perf_counter()
        kubeconfig = _saved(place, access)
        wanted = [
            word for name, _, flag in _MANAGERS.values() for word in (flag, f"{name}:{CLUSTER_API}")
        ]
        _kapy(environ, "--config", str(config), "init", "--kubeconfig", kubeconfig, *wanted)
        for context in [
            stack.enter_context(_manager(name, kubeconfig, environ)) for name in _MANAGERS
        ]:
            assert context.stdout is not None
            assert any("is at https://" in line for line in context.stdout), "a manager ended"
        ready = time.perf_counter()
    return [
        {"step": "kube-apiserver: the API server", "wall_s": round(up - began, 2)},
        {
            "step": "kube-apiserver: the first provider ready",
            "wall_s": round(ready - began, 2),
        },
    ]


def _saved(folder: Path, access: Kubeconfig) -> str:
    path = folder / "kubeconfig"
    path.write_text(dump(with_context({}, "real", access)))
    return str(path)


@contextmanager
def _manager(
    name: str, kubeconfig: str, environ: dict[str, str]
) -> Iterator[subprocess.Popen[str]]:
    from tests.real.servers import free_port

    own = ["--health-addr=0", "--insecure-diagnostics"]
    own.append(f"--diagnostics-address=127.0.0.1:{free_port()}")
    command = [_KAPY, "manager", name, *own, "--kubeconfig", kubeconfig]
    with subprocess.Popen(
        command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def _kapy(environ: dict[str, str], *arguments: str) -> str:
    words: Sequence[str] = [_KAPY, *arguments]
    done = subprocess.run(words, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr[-2000:]}")
    return done.stdout
