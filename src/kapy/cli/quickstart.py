"""`kapy quickstart`: from nothing to a Ready cluster in one command."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from kapy._aio.clock import system_clock
from kapy.api.cluster import Cluster
from kapy.apps.cluster_progress import delete_and_wait, wait_until_available
from kapy.apps.context import kubeconfig_path
from kapy.apps.manifests import apply_manifests, class_sample, read_file, require_classes
from kapy.cli.background import open_background_plane
from kapy.cli.console import Console
from kapy.cli.daemon import chosen_folder, flags_of
from kapy.cli.describe import wants_color
from kapy.cli.event_loop import run
from kapy.cli.flags import command
from kapy.cli.log_lines import log_to_stderr
from kapy.cli.output import own_name, terminal_width
from kapy.cli.plane_options import PlaneOptions, plane_options
from kapy.cli.signals import StopRequest, handle_stop_signals
from kapy.cli.ui import Link, login_path
from kapy.client.client import Client
from kapy.clusterctl.describe import ClientSource, Node, as_document, discover, table
from kapy.clusterctl.describe import Options as Shown
from kapy.kube import Document, Key
from kapy.kube.http import ADMIN

NAME = "quickstart"
CLUSTER_TIMEOUT = 300.0
REMOVAL_TIMEOUT = 120.0
"""Seconds to wait for the end of containers."""
DOCKER_VERSION = "v1.36.1"


@dataclass(frozen=True, slots=True)
class QuickstartRequest:
    """The options of a quickstart.

    objects: the objects to apply. within: the maximum seconds to wait for clusters. stays: whether
    the plane runs until Ctrl-C. keeps_data: whether the data of the plane are kept. containers:
    whether the machines are containers, which outlive the plane.
    """

    objects: Sequence[Document]
    within: float
    stays: bool
    keeps_data: bool
    output: str | None
    containers: bool = False


@dataclass(frozen=True, slots=True)
class PlaneLocation:
    """The location of the plane, for the user's next commands. link: logs in to its page once, ""
    for none."""

    server: str
    context: str
    kubeconfig: str
    link: str = ""


@command()
@click.option("-f", "--file", "files", multiple=True, help="Apply this YAML, not the sample.")
@click.option(
    "--infrastructure",
    type=click.Choice(["in-memory", "docker"]),
    default="in-memory",
    show_default=True,
    help="Backend of the sample's machines: memory, or containers with a real kubelet.",
)
@click.option(
    "--kubernetes-version",
    default=DOCKER_VERSION,
    show_default=True,
    help="Of the sample with --infrastructure docker.",
)
@click.option("--exit", "leave", is_flag=True, help="End after success (or with the reason).")
@click.option("--detach", is_flag=True, help="Leave the plane running in the background.")
@click.option("--name", default=NAME, show_default=True, help="Name of the plane.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=CLUSTER_TIMEOUT,
    show_default=True,
    help="Seconds to wait for the cluster.",
)
@plane_options
@click.option("-o", "--output", type=click.Choice(["json"]), help="Print the result as JSON.")
@click.option("-v", "--verbose", count=True, help="Say more (twice: everything).")
def quickstart(
    files: tuple[str, ...],
    infrastructure: str,
    kubernetes_version: str,
    leave: bool,
    detach: bool,
    name: str,
    timeout: float,
    data_dir: str,
    in_memory: bool,
    port: int | None,
    host: str,
    token_file: str,
    kubeconfig: str,
    output: str | None,
    verbose: int,
) -> None:
    """Start a management plane, apply a cluster, and wait until it is available."""
    if leave and detach:
        raise click.UsageError("--exit and --detach contradict each other")
    containers = infrastructure == "docker"
    if files and containers:
        raise click.UsageError("--file and --infrastructure docker contradict each other")
    log_to_stderr(verbose)
    if containers:
        objects = run(_docker_objects(kubernetes_version, Console(json=output == "json")))
    else:
        objects = _objects(files)
    keeps = bool(data_dir)
    request = QuickstartRequest(objects, timeout, not (leave or detach), keeps, output, containers)
    options = PlaneOptions(name, None, in_memory, host, port, token_file, kubeconfig)
    if detach:
        flags = flags_of("" if name == NAME else name, data_dir)
        run(
            _run_in_background(
                replace(options, folder=chosen_folder(name, data_dir)), request, flags
            )
        )
        return
    with _own_folder(name, data_dir, in_memory=in_memory) as data:
        run(_run_in_foreground(replace(options, folder=data), request))


def _objects(files: tuple[str, ...]) -> Sequence[Document]:
    return [item for path in files for item in read_file(Path(path))] if files else class_sample()


async def _docker_objects(version: str, console: Console) -> Sequence[Document]:
    """Return the sample of containers; problems of the engine are reported before a plane
    starts.
    """
    from kapy.apps.docker_sample import docker_sample  # most quickstarts use no container engine
    from kapy.containers import Engine

    console.step("looking for a container engine")
    async with Engine.from_environment() as engine:
        info = await engine.info()
        console.done(f"container engine {info.version} at {engine.address}")
        return await docker_sample(engine, version, console.done)


@contextmanager
def _own_folder(name: str, data_dir: str, *, in_memory: bool) -> Iterator[Any]:
    """The requested folder, else a temporary one that is deleted with the plane."""
    if in_memory:
        yield None
    elif data_dir:
        yield chosen_folder(name, data_dir)
    else:
        with tempfile.TemporaryDirectory(prefix="kapy-quickstart-") as folder:
            yield chosen_folder(name, folder)


async def _run_in_foreground(options: PlaneOptions, request: QuickstartRequest) -> None:
    """Run the plane in this process: it ends with the command."""
    from kapy.cli.plane import run_announced_plane  # not imported by commands that only observe

    console = Console(json=request.output == "json")
    began = time.monotonic()
    console.step("starting the management plane")
    with handle_stop_signals() as stop:
        async with (
            stop.start("the management plane") as ready,
            run_announced_plane(options) as there,
        ):
            ready()
            pages = there.plane.pages
            path = pages.login_path(ADMIN) if pages is not None and request.stays else ""
            link = f"{there.server}{path}" if path else ""
            location = PlaneLocation(there.server, there.context, str(there.kubeconfig), link)
            console.done(
                f"management plane at {location.server} ({time.monotonic() - began:.1f} s)"
            )
            work = _wait_for(there.plane.client, request, location, console, began)
            try:
                await _cancel_on_stop(stop, work)
                if request.stays:
                    stays = "its data stay" if request.keeps_data else "nothing of it stays"
                    console.say(f"\nThe plane runs until you press Ctrl-C; {stays}.")
                    await stop.wait()
            finally:
                if request.containers and not request.keeps_data:
                    await _remove_clusters(there.plane.client, request, console)


async def _remove_clusters(client: Client, request: QuickstartRequest, console: Console) -> None:
    """Delete the clusters, because their containers would outlive the plane."""
    clusters = [Key.of(obj) for obj in request.objects if obj["kind"] == Cluster.RESOURCE.kind]
    console.step(f"deleting {', '.join(key.name for key in clusters)}")
    try:
        async with asyncio.timeout(REMOVAL_TIMEOUT):
            for key in clusters:
                await delete_and_wait(client, key)
    except TimeoutError:
        names = " ".join(f"--filter label=io.x-k8s.kind.cluster={key.name}" for key in clusters)
        raise click.ClickException(
            f"not all containers are gone after {REMOVAL_TIMEOUT:g} s: look at them with "
            f"`docker ps -a {names}`"
        ) from None
    console.done("containers are gone")


async def _run_in_background(options: PlaneOptions, request: QuickstartRequest, flags: str) -> None:
    """Run the plane in a background process; other commands find it by these flags."""
    console = Console(json=request.output == "json")
    began = time.monotonic()
    console.step("starting the management plane in the background")
    async with open_background_plane(options) as (client, record):
        path = await login_path(client, Link()) or ""
        link = f"{record.server}{path}" if path else ""
        location = PlaneLocation(record.server, record.context, record.kubeconfig, link)
        console.done(f"management plane at {location.server} ({time.monotonic() - began:.1f} s)")
        await _wait_for(client, request, location, console, began)
        kapy = own_name()
        console.say(
            f"\nThe plane runs in the background: {kapy} status{flags}, {kapy} down{flags}."
        )
        if request.containers:
            console.say("Its containers stay until the Cluster is deleted.")


async def _wait_for(
    client: Client,
    request: QuickstartRequest,
    location: PlaneLocation,
    console: Console,
    began: float,
) -> None:
    await require_classes(client, request.objects)
    console.step("applying the objects")
    applied = await apply_manifests(client, request.objects)
    console.done(f"applied {len(applied)} objects")
    clusters = [Key.of(element) for element in applied if element["kind"] == "Cluster"]
    if not clusters:
        console.say("There is no Cluster among them, so there is nothing to wait for.")
        return

    def tell(key: Key, step: str) -> None:
        console.done(f"{key.name}: {step} ({time.monotonic() - began:.1f} s)")

    console.step(f"waiting for {', '.join(key.name for key in clusters)}")
    ready = await wait_until_available(client, clusters, tell, within=request.within)
    console.end()
    seconds = time.monotonic() - began
    trees = [await discover(ClientSource(client), key, Shown()) for key in clusters]
    if request.output == "json":
        result = [
            _cluster_result(element, as_document(tree))
            for element, tree in zip(ready, trees, strict=True)
        ]
        click.echo(json.dumps(_result(result, location, seconds), indent=2))
        return
    for item, tree in zip(ready, trees, strict=True):
        console.say(f"\nCluster {Key.of(item)} is Available: {_size(item)} ({seconds:.1f} s)\n")
        width = terminal_width()
        value = table(tree, now=system_clock(), color=wants_color(None), width=width)
        console.say("\n".join(line.rstrip() for line in value.splitlines()))
    console.say(f"\nTry next:\n{_next_commands(location, trees[0])}")
    if location.link:
        console.say("\nSee it in a browser (this link works once, `kapy ui` prints another):")
        console.say(f"  {location.link}")


def _result(clusters: list[Document], location: PlaneLocation, seconds: float) -> Document:
    return {
        "server": location.server,
        "context": location.context,
        "kubeconfig": location.kubeconfig,
        "seconds": round(seconds, 3),
        "clusters": clusters,
    }


def _cluster_result(cluster: Document, tree: Document) -> Document:
    key = Key.of(cluster)
    counts = {part: _replicas(cluster, part) for part in ("controlPlane", "workers")}
    return {
        "namespace": key.namespace,
        "name": key.name,
        "available": True,
        **counts,
        "tree": tree,
    }


def _size(cluster: Document) -> str:
    planes, workers = _replicas(cluster, "controlPlane"), _replicas(cluster, "workers")
    many = "s" if planes != 1 else ""
    return f"{planes} control plane{many} + {workers} worker{'s' if workers != 1 else ''}"


def _replicas(cluster: Document, part: str) -> int:
    return int(((cluster.get("status") or {}).get(part) or {}).get("replicas") or 0)


def _next_commands(location: PlaneLocation, tree: Node) -> str:
    assert tree.document is not None
    cluster = Key.of(tree.document)
    namespace = "" if cluster.namespace == "default" else f" -n {cluster.namespace}"
    usual = location.kubeconfig == str(kubeconfig_path())
    at = "" if usual else f" --kubeconfig {location.kubeconfig}"
    file = f"{cluster.name}.kubeconfig"
    return (
        f"  kubectl{at} get clusters,machines -A\n"
        f"  {own_name()} get kubeconfig {cluster.name}{namespace}{at} > {file} && "
        f"kubectl --kubeconfig {file} get nodes\n"
        f"  kubectl{at} {_scale(tree, namespace)}"
    )


def _scale(tree: Node, namespace: str) -> str:
    """Return the kubectl command that scales a cluster: a managed cluster is scaled in its
    topology.
    """
    assert tree.document is not None
    cluster = tree.document
    if ((cluster["spec"].get("topology") or {}).get("workers") or {}).get("machineDeployments"):
        path = "/spec/topology/workers/machineDeployments/0/replicas"
        patch = json.dumps([{"op": "replace", "path": path, "value": 5}], separators=(",", ":"))
        return f"patch cluster{namespace} {Key.of(cluster).name} --type json -p '{patch}'"
    deployments = [node.document for node in tree.walk() if node.kind == "MachineDeployment"]
    scaled = deployments[0]["metadata"]["name"] if deployments and deployments[0] else "NAME"
    return f"scale machinedeployment{namespace} {scaled} --replicas 5"


async def _cancel_on_stop(stop: StopRequest, work: Coroutine[Any, Any, None]) -> None:
    """Do the work, or cancel it if a stop is requested."""
    async with asyncio.TaskGroup() as group:
        stopping, working = group.create_task(stop.wait()), group.create_task(work)
        await asyncio.wait({stopping, working}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        working.cancel()
    if working.cancelled():
        raise click.Abort
