"""`kapy hosts`: a plug-in of kapy, the program `kapy-hosts`."""

from __future__ import annotations

import asyncio
import sys
import time
from base64 import b64encode
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec import convert

from kapy.client import KapyError, NotFound, connect
from kapy.sdk import Client, Document, Key, conditions, resource
from kapy_hosts import remote
from kapy_hosts.access import PRIVATE_KEY, SECRETS, target_of
from kapy_hosts.checks import general_problems, machine_problems
from kapy_hosts.claims import AVAILABLE, FINALIZER
from kapy_hosts.hosts import CHECK
from kapy_hosts.inventory import read_inventory
from kapy_hosts.kinds import MOVE, Host, HostMachine, HostMachineSpec
from kapy_hosts.shell import HostFailure

MACHINES = resource("cluster.x-k8s.io", "v1beta2", "Machine")
F = TypeVar("F", bound=Callable[..., Any])
Names = Sequence[str]


def _options(command: F) -> F:
    for option in (
        click.option("-n", "--namespace", default="default", show_default=True, help="Namespace of the Hosts."),
        click.option("--kubeconfig-context", "context", default="", help="Context of the kubeconfig."),
        click.option("--kubeconfig", default="", help="Kubeconfig of the management cluster."),
    ):
        command = option(command)
    return command


def _run(work: Callable[[Client], Awaitable[int]], kubeconfig: str, context: str) -> int:
    async def connected() -> int:
        async with connect(kubeconfig, context=context, field_manager="kapy-hosts") as client:
            return await work(client)

    return asyncio.run(connected())


@click.group("hosts", context_settings={"help_option_names": ["-h", "--help"]})
def hosts() -> None:
    """Look after the hosts of your clusters."""


@hosts.command()
@click.argument("words", metavar="[NAME=ADDRESS]...", nargs=-1)
@click.option("-f", "--inventory", type=click.Path(path_type=Path, exists=True), help="A YAML or Ansible inventory.")
@click.option("--user", default="root", show_default=True, help="User, for NAME=ADDRESS.")
@click.option("--port", default=22, show_default=True, help="Port, for NAME=ADDRESS.")
@click.option("--sudo", is_flag=True, help="Run commands by sudo, for NAME=ADDRESS.")
@click.option("--private-key", type=click.Path(path_type=Path, exists=True), help="Goes into the Secret hosts-key.")
@_options
def add(
    words: Names,
    inventory: Path | None,
    user: str,
    port: int,
    sudo: bool,
    private_key: Path | None,
    namespace: str,
    kubeconfig: str,
    context: str,
) -> int:
    """Add Hosts, or change those that are there."""
    documents = [] if inventory is None else read_inventory(inventory.read_text(encoding="utf-8"), namespace)
    pairs = [word.partition("=") for word in words]
    common = {"user": user, "port": port, "sudo": sudo}
    entries = [{"name": name, "address": address or name, **common} for name, _, address in pairs]
    if entries:
        documents += read_inventory(_json({"hosts": entries}), namespace)
    if not documents:
        raise click.UsageError("name hosts as NAME=ADDRESS, or an inventory with -f")

    async def work(client: Client) -> int:
        if private_key is not None:
            await client.apply(SECRETS, _secret(private_key, namespace))
        for document in documents:
            if private_key is not None:
                document["spec"].setdefault("privateKeySecretRef", {"name": "hosts-key"})
            await client.apply(Host.RESOURCE, document)
            click.echo(f"Host {document['metadata']['name']} is added")
        return 0

    return _run(work, kubeconfig, context)


@hosts.command("list")
@_options
def list_(namespace: str, kubeconfig: str, context: str) -> int:
    """List Hosts, and what they are used for."""

    async def work(client: Client) -> int:
        rows = [("NAME", "ADDRESS", "STATE", "MACHINE", "CLUSTER", "KUBERNETES", "REASON")]
        for host in (await client.list(Host, namespace)).items:
            claim, facts = host.spec.claim, host.status.facts
            available = conditions.get(host.status.conditions, AVAILABLE)
            reason = available.message if available is not None and claim is None else ""
            used = ("", "") if claim is None else (claim.name, claim.cluster)
            version = "" if facts is None else facts.kubernetes
            rows.append((host.metadata.name, host.spec.address, host.status.state, *used, version, reason))
        _print(rows)
        return 0

    return _run(work, kubeconfig, context)


@hosts.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("-f", "--inventory", type=click.Path(path_type=Path, exists=True), help="Hosts that are not added yet.")
@click.option("--kubernetes-version", "version", default="", help="The version that must be installed.")
@click.option("--control-plane", is_flag=True, help="Check for a control plane machine, too.")
@_options
def check(
    names: Names,
    inventory: Path | None,
    version: str,
    control_plane: bool,
    namespace: str,
    kubeconfig: str,
    context: str,
) -> int:
    """Connect to hosts from here, and say what each lacks."""

    async def work(client: Client | None) -> int:
        from kapy_hosts.ssh import connections

        if inventory is not None:
            documents = read_inventory(inventory.read_text(encoding="utf-8"), namespace)
            selected = [convert(document, Host) for document in documents]
        else:
            assert client is not None
            selected = await _select_hosts(client, names, namespace)
        async with connections() as dialer:

            async def look(host: Host) -> str:
                try:
                    shell = await dialer.connect(await target_of(client, host) if client else _plain(host))
                    observed = await remote.look(shell)
                except HostFailure as failure:
                    return f"{failure.reason}: {failure}"
                if observed["claim"]:
                    return f"in use: {remote.describe_claim(list(observed.claim))}"
                ignored, spec = host.spec.ignored_checks, HostMachineSpec()
                problems = general_problems(observed, time.time(), ignored)  # noqa: TID251 - the user's clock
                return "; ".join(
                    map(str, problems + machine_problems(observed, spec, version, ignored, control_plane=control_plane))
                )

            missing = await asyncio.gather(*map(look, selected))
        rows = [("NAME", "ADDRESS", "MISSING")]
        for host, text in zip(selected, missing, strict=True):
            rows.append((host.metadata.name, host.spec.address, text or "nothing"))
        _print(rows)
        return 1 if any(text and not text.startswith("in use") for text in missing) else 0

    return asyncio.run(work(None)) if inventory is not None else _run(work, kubeconfig, context)


@hosts.command()
@click.argument("name")
@click.option("--timeout", default=900.0, show_default=True, help="Seconds to wait until the Host is clean.")
@_options
def drain(name: str, timeout: float, namespace: str, kubeconfig: str, context: str) -> int:
    """Give the Host no new machine, and replace the Machine that it has elsewhere."""
    key = Key(namespace, name)

    async def work(client: Client) -> int:
        host = await client.patch(Host, key, {"spec": {"unschedulable": True}})
        claim = host.spec.claim
        if claim is not None and claim.kind == "HostMachine" and not claim.released:
            machine = await client.get(HostMachine, Key(namespace, claim.name))
            for owner in machine.metadata.owner_references:
                if owner.kind == "Machine":
                    await client.delete(MACHINES, Key(namespace, owner.name))
                    click.echo(f"Machine {owner.name} is being deleted")
        elif claim is not None and not claim.released:
            raise click.ClickException(f"Host {name} is the load balancer of {claim.cluster}: delete the Cluster first")
        return await _wait_until_free(client, key, timeout)

    return _run(work, kubeconfig, context)


@hosts.command()
@click.argument("name")
@click.option("--force", is_flag=True, help="Drop the claim without cleaning: you know that the host is clean.")
@click.option("--timeout", default=300.0, show_default=True, help="Seconds to wait until the Host is clean.")
@_options
def release(name: str, force: bool, timeout: float, namespace: str, kubeconfig: str, context: str) -> int:
    """Give a drained or quarantined Host back to the pool."""
    key = Key(namespace, name)

    async def work(client: Client) -> int:
        host = await client.get(Host, key)
        claim = host.spec.claim
        if claim is not None and not claim.released and not force:
            raise click.ClickException(f"Host {name} is in use by {claim.name}: kapy hosts drain {name}")
        patch: Document = {"spec": {"unschedulable": False}, "metadata": {"annotations": {CHECK: str(time.time_ns())}}}
        if force:
            await _forget(client, host)
            patch["spec"]["claim"] = None
            patch["metadata"]["finalizers"] = [
                finalizer for finalizer in host.metadata.finalizers if finalizer != FINALIZER
            ]
        await client.patch(Host, key, patch)
        return await _wait_until_free(client, key, timeout)

    return _run(work, kubeconfig, context)


async def _forget(client: Client, host: Host) -> None:
    """Remove the claim that the host stores, if it answers."""
    from kapy_hosts.ssh import connections

    try:
        async with connections() as dialer:
            await remote.forget(await dialer.connect(await target_of(client, host)))
    except HostFailure as failure:
        click.echo(f"the host keeps its claim: {failure}", err=True)


async def _wait_until_free(client: Client, key: Key, timeout: float) -> int:
    """Wait until a Host has no claim."""
    host = await client.get(Host, key)
    try:
        async with asyncio.timeout(timeout):
            while host.spec.claim is not None:
                await asyncio.sleep(1)
                host = await client.get(Host, key)
    except TimeoutError:
        messages = [condition.message for condition in host.status.conditions if condition.type == "Clean"]
        raise click.ClickException(f"Host {key.name} is not free after {timeout:g} s; {'; '.join(messages)}") from None
    click.echo(f"Host {key.name} is clean" + (" and unschedulable" if host.spec.unschedulable else ""))
    return 0


async def _select_hosts(client: Client, names: Names, namespace: str) -> list[Host]:
    if names:
        return [await client.get(Host, Key(namespace, name)) for name in names]
    return list((await client.list(Host, namespace)).items)


def _plain(host: Host) -> Any:
    from kapy_hosts.shell import Target

    spec = host.spec
    return Target(spec.address, spec.port, spec.user, spec.sudo, host_key=spec.host_key)


def _secret(path: Path, namespace: str) -> Document:
    metadata = {"name": "hosts-key", "namespace": namespace, "labels": {MOVE: ""}}
    data = {PRIVATE_KEY: b64encode(path.read_bytes()).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}


def _json(value: Document) -> str:
    from msgspec.json import encode

    return encode(value).decode()


def _print(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("   ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


def main() -> None:
    """Entry point of `kapy-hosts`."""
    try:
        sys.exit(hosts.main(standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
    except (NotFound, KapyError) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
