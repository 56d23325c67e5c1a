"""`kapy generate provider`: generates the YAML of a provider's components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from kapy.cli.flags import command
from kapy.cli.generated_output import run_generator, write
from kapy.cli.load_config import load_config

if TYPE_CHECKING:
    from kapy.clusterctl.components import Components
    from kapy.clusterctl.provider import ProviderType

_FLAGS: Final = (
    "--core, --bootstrap, --control-plane, --infrastructure, --ipam, --extension, --addon"
)
_TYPES: Final = (
    "core",
    "bootstrap",
    "control_plane",
    "infrastructure",
    "ipam",
    "runtime_extension",
    "addon",
)


@command()
@click.option("--core", default="", help="Core provider and version (e.g. cluster-api:v1.14.0).")
@click.option(
    "-i", "--infrastructure", default="", help="Infrastructure provider (e.g. aws:v2.11.0)."
)
@click.option("-b", "--bootstrap", default="", help="Bootstrap provider (e.g. kubeadm:v1.14.0).")
@click.option("-c", "--control-plane", default="", help="Control plane provider.")
@click.option("--ipam", default="", help="IPAM provider.")
@click.option("--runtime-extension", default="", help="Runtime extension provider.")
@click.option("--addon", default="", help="Add-on provider.")
@click.option(
    "-n",
    "--target-namespace",
    default="",
    help="Namespace of the provider, instead of the namespace in its components.",
)
@click.option(
    "--describe",
    is_flag=True,
    help="Describe the components and their variables, instead of printing YAML.",
)
@click.option("--raw", is_flag=True, help="Leave the variables as they are.")
@click.option("--write-to", default="", help="File to write to, instead of standard output.")
def provider(
    target_namespace: str, *, describe: bool, raw: bool, write_to: str, **providers: str
) -> None:
    """Generate the YAML of a provider's components.

    They come from the provider's repository; variables have the values of the environment or of
    the configuration file.
    """
    from kapy.clusterctl.components.reading import generate_components
    from kapy.clusterctl.provider import parse_reference
    from kapy.clusterctl.repository import is_local

    text, of_type = _choose(providers)
    reference, settings = parse_reference(text), load_config()
    chosen = settings.provider(reference.name, of_type)
    components = run_generator(
        generate_components(
            chosen,
            reference.version,
            settings,
            namespace=target_namespace,
            substitute=not (raw or describe),
        ),
        near=is_local(chosen.url),
    )
    if describe:
        click.echo(_describe(components))
        return
    write(components.objects, write_to)
    for warning in components.warnings:
        click.echo(f"Warning: {warning}", err=True)


def _choose(providers: dict[str, str]) -> tuple[str, ProviderType]:
    from kapy.clusterctl.provider import ProviderType

    choices = [(providers[name], name) for name in _TYPES if providers[name]]
    if not choices:
        raise click.UsageError(f"at least one of {_FLAGS} should be set")
    if len(choices) > 1:
        raise click.UsageError(f"only one of {_FLAGS} should be set")
    text, name = choices[0]
    word = name.replace("_", "-")
    return text, next(provider_type for provider_type in ProviderType if provider_type.word == word)


def _describe(components: Components) -> str:
    folder, _, file = components.provider.url.rpartition("/")
    rows = {
        "Name": components.provider.name,
        "Type": components.provider.type.value,
        "URL": folder[: folder.rfind("/") + 1],
        "Version": components.version,
        "File": file,
        "TargetNamespace": components.target_namespace,
    }
    lines = [f"{name + ':':<19} {value}" for name, value in rows.items()]
    for title, values in (("Variables", components.variables), ("Images", components.images)):
        if values:
            lines += [f"{title}:", *(f"  - {item}" for item in values)]
    return "\n".join(lines) + "\n"
