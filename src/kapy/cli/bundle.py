"""`kapy bundle create`, `kapy bundle load` and `kapy bundle push`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from kapy.cli.flags import command
from kapy.cli.load_config import load_config
from kapy.cli.progress import ProgressSteps, run_with_steps
from kapy.cli.provider_flags import provider_flags
from kapy.clusterctl.provider import ProviderType


@command()
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write.",
)
@provider_flags("to put into the bundle")
@click.option(
    "--cert-manager/--no-cert-manager",
    default=True,
    help="Put cert-manager into it, too; yes by default.",
)
@click.option(
    "--image-digests/--no-image-digests",
    default=True,
    help="Ask registries for the digests of images; yes by default.",
)
def create(
    output: Path,
    names: Mapping[ProviderType, Sequence[str]],
    cert_manager: bool,
    image_digests: bool,
) -> None:
    """Put providers, templates and lists of images into one file.

    Without names of their own, the core provider is cluster-api, and those for bootstrap and
    control plane are kubeadm. The file is an OCI image layout.
    """
    from kapy.clusterctl.bundle.file import save
    from kapy.clusterctl.bundle.gathering import gather_bundle
    from kapy.clusterctl.install.requested_providers import RequestedProviders

    bundle = run_with_steps(
        lambda steps: gather_bundle(
            RequestedProviders(names),
            load_config(),
            steps,
            cert_manager=cert_manager,
            digests=image_digests,
        ),
        again="nothing was written; what was downloaded is kept for the next time",
    )
    save(bundle, output)
    if image_digests and bundle.without_digest:
        click.echo(
            f"Warning: no registry said the digests of {', '.join(bundle.without_digest)}", err=True
        )
    releases = ", ".join(map(str, bundle.releases))
    click.echo(f"{output}: {releases}; {len(bundle.images)} images are listed")


@command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--to",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to unpack into; usually cluster-api/repository below $XDG_CONFIG_HOME.",
)
@click.option(
    "--image-repository",
    default="",
    help="Registry that mirrors the images, for example registry.local/capi.",
)
def load(file: Path, to: Path | None, image_repository: str) -> None:
    """Unpack the bundle FILE into a folder that all commands then work from.

    The configuration for it is written into cluster-api/clusterctl.yaml below $XDG_CONFIG_HOME,
    or into the folder where there is a configuration already.
    """
    from kapy.clusterctl.bundle.file import open_bundle
    from kapy.clusterctl.bundle.loading import bundle_settings, configure, unpack
    from kapy.clusterctl.config.places import config_folders

    bundle = open_bundle(file)
    usual = config_folders(os.environ)[0]
    folder = (to or usual / "repository").absolute()
    steps = ProgressSteps()
    unpack(bundle, folder, steps)
    steps.end()
    configuration = bundle_settings(bundle, str(folder), image_repository=image_repository)
    path = configure(configuration, usual / "clusterctl.yaml", folder / "clusterctl.yaml")
    click.echo(f"{folder}: {', '.join(map(str, bundle.releases))}")
    if path.parent == usual:
        click.echo(f"{path} names it")
    else:
        click.echo(f"use it with --config {path}, or add the lines of that file to your own")


@command()
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("place")
@click.option(
    "--image-repository",
    default="",
    help="Registry that mirrors the images, for example registry.local/capi.",
)
def push(file: Path, place: str, image_repository: str) -> None:
    """Put the bundle FILE into a registry, below PLACE, as oci://registry.local/capi.

    Prints the configuration for it.
    """
    from kapy.clusterctl.bundle import loading
    from kapy.clusterctl.bundle.file import open_bundle
    from kapy.kube import yaml

    bundle = open_bundle(file)
    run_with_steps(
        lambda steps: loading.push(bundle, place, load_config(), steps),
        again="run the same command again: what is there already is not sent again",
    )
    click.echo(
        yaml.dump(loading.bundle_settings(bundle, place, image_repository=image_repository)),
        nl=False,
    )
