"""`kapy conformance extension`: tests whether a running extension conforms to the Runtime SDK."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kapy.cli.flags import command

if TYPE_CHECKING:
    from kapy.testing.extension_conformance import Finding


@command(missing="please say where the extension is, as in https://127.0.0.1:9443")
@click.argument("url")
@click.option(
    "--ca",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="PEM file of the authority of its certificate, where that is none of the system's.",
)
def extension(url: str, ca: Path | None) -> int:
    """Judge a running extension, in whatever language it is written.

    The command calls the handlers as kapy calls them, for a cluster with the name sample that does
    not exist. Side effects of the handlers are real. The exit code is 2 if a rule is broken.
    """
    import asyncio

    from kapy.apps.extension_server.configured_extensions import check_url

    check_url(url)
    authority = b64encode(ca.read_bytes()).decode("ascii") if ca else ""
    findings = asyncio.run(_run_checks(url, authority))
    for finding in findings:
        who = f"{finding.handler}: " if finding.handler else ""
        click.echo(f"{'kept  ' if finding.holds else 'BROKEN'}  {who}{finding.rule}")
        if finding.why:
            click.echo(f"        {finding.why}")
    broken = sum(not entry.holds for entry in findings)
    click.echo(f"{len(findings) - broken} rules kept, {broken} broken")
    return 2 if broken else 0


async def _run_checks(url: str, authority: str) -> list[Finding]:
    from kapy.api.extension_config import ClientConfig
    from kapy.hooks.catalog import full_catalog
    from kapy.hooks.https import HttpsTransport
    from kapy.hooks.transport import Answer
    from kapy.testing.extension_conformance import check_extension

    client, post = ClientConfig(url=url, ca_bundle=authority), HttpsTransport()

    async def ask(path: str, body: bytes) -> Answer:
        return await post(client, url.rstrip("/") + path, body)

    try:
        return await check_extension(ask, full_catalog())
    finally:
        await post.aclose()
