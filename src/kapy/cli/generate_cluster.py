"""`kapy generate cluster`: generates the YAML of a workload cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import TYPE_CHECKING

import click

from kapy.cli.flags import command
from kapy.cli.generated_output import run_generator, write
from kapy.cli.load_config import load_config

if TYPE_CHECKING:
    from kapy.cli.client_options import ConnectedClient
    from kapy.clusterctl.config import Config
    from kapy.clusterctl.templates.generate import Connect, Source, TemplateOptions


@command(missing="please specify a cluster name")
@click.argument("name")
@click.option("--kubeconfig", default="", help="Kubeconfig of the management cluster.")
@click.option("--kubeconfig-context", default="", help="Context to use in it.")
@click.option(
    "-n",
    "--target-namespace",
    default="",
    help="Namespace of the workload cluster; the current one if unspecified.",
)
@click.option("--kubernetes-version", default="", help="Kubernetes version of the cluster.")
@click.option(
    "--control-plane-machine-count",
    "--controlplane-machine-count",
    "control_planes",
    type=int,
    help="Number of control plane machines (usually 1).",
)
@click.option(
    "--worker-machine-count", "workers", type=int, help="Number of worker machines (usually 0)."
)
@click.option(
    "-i",
    "--infrastructure",
    default="",
    help="Infrastructure provider whose template is used, as name[:version]; the installed one "
    "if unspecified.",
)
@click.option("-f", "--flavor", default="", help="Flavor of the provider's cluster template.")
@click.option("--from", "place", default="", help="File or URL of a template; - is stdin.")
@click.option("--from-config-map", default="", help="ConfigMap that has a template.")
@click.option("--from-config-map-namespace", default="", help="Its namespace.")
@click.option("--from-config-map-key", default="", help='Its key, "template" if unspecified.')
@click.option("--list-variables", is_flag=True, help="Only list the variables of the template.")
@click.option("--write-to", default="", help="File to write to, instead of standard output.")
def cluster(
    name: str,
    kubeconfig: str,
    kubeconfig_context: str,
    target_namespace: str,
    kubernetes_version: str,
    control_planes: int | None,
    workers: int | None,
    infrastructure: str,
    flavor: str,
    place: str,
    from_config_map: str,
    from_config_map_namespace: str,
    from_config_map_key: str,
    list_variables: bool,
    write_to: str,
) -> None:
    """Generate the YAML of a workload cluster NAME.

    The template comes from an infrastructure provider's repository, a file, a URL or a ConfigMap.
    """
    from kapy.clusterctl.templates.generate import TemplateOptions, cluster_template_of

    source = _source(
        (infrastructure, flavor),
        place,
        (from_config_map, from_config_map_namespace, from_config_map_key),
    )
    options = TemplateOptions(name, target_namespace, kubernetes_version, control_planes, workers)
    settings = load_config()
    with _client_factory(kubeconfig, kubeconfig_context) as reach:
        template = run_generator(
            cluster_template_of(
                source,
                options,
                settings,
                reach,
                list_only=list_variables,
                check_contract=bool(kubeconfig),
            ),
            near=not kubeconfig and _is_local(source, settings),
        )
    if list_variables:
        click.echo(_list_variables(template.variables, options))
    else:
        write(template.objects, write_to)


def _source(repository: tuple[str, str], place: str, config_map: tuple[str, str, str]) -> Source:
    from kapy.clusterctl.errors import TemplateError
    from kapy.clusterctl.templates.generate import FromConfigMap, FromPlace, FromRepository

    sources: list[Source] = []
    if any(repository):
        sources.append(FromRepository(*repository))
    if place:
        sources.append(FromPlace(place))
    if any(config_map):
        sources.append(FromConfigMap(*config_map))
    if len(sources) > 1:
        raise TemplateError(
            "invalid cluster template source: only one template can be used at time (a provider's, "
            "with --infrastructure and --flavor; or --from; or --from-config-map)"
        )
    return sources[0] if sources else FromRepository()


def _is_local(source: Source, settings: Config) -> bool:
    """Return whether a template is a local file, so that no server is needed."""
    from kapy.clusterctl.provider import ProviderType
    from kapy.clusterctl.repository import is_local
    from kapy.clusterctl.templates.generate import FromPlace, FromRepository
    from kapy.clusterctl.templates.sources import is_remote

    if isinstance(source, FromPlace):
        return not is_remote(source.place)
    if not isinstance(source, FromRepository):
        return True
    name, _, version = source.infrastructure.lower().partition(":")
    kind = ProviderType.INFRASTRUCTURE
    named = [
        provider
        for provider in settings.providers
        if provider.type is kind and provider.name == name
    ]
    return bool(version) and all(is_local(provider.url) for provider in named)


@contextmanager
def _client_factory(kubeconfig: str, kubeconfig_context: str) -> Iterator[Connect]:
    """Connects to the management cluster on first use, once."""
    with ExitStack() as connections:

        @cache
        def reach() -> ConnectedClient:
            from kapy.cli.client_options import open_client

            return connections.enter_context(open_client(kubeconfig, kubeconfig_context, ""))

        yield reach


def _list_variables(variables: Mapping[str, str | None], options: TemplateOptions) -> str:
    """Return the required variables, then the others with their defaults."""
    result = {name: _default_text(name, own, options) for name, own in variables.items()}
    lines = [f"  - {name}" for name, default in result.items() if default is None]
    if lines:
        lines.insert(0, "Required Variables:")
    optional = {name: default for name, default in result.items() if default is not None}
    if optional:
        width = max(map(len, optional)) + 2
        lines += ["", "Optional Variables:"]
        lines += [f"  - {name:{width}}(defaults to {own})" for name, own in optional.items()]
    return "".join(f"{line}\n" for line in lines)


def _default_text(name: str, default: str | None, options: TemplateOptions) -> str | None:
    """Return the default of a variable; for variables with flags, the flag's text."""
    from kapy.kube.go_literals import go_quoted

    if name == "CLUSTER_NAME":
        return options.name
    if name == "NAMESPACE":
        return options.namespace or "current Namespace in the KubeConfig file"
    if name == "CONTROL_PLANE_MACHINE_COUNT":
        return _count_text(name, options.control_plane_machines, "1")
    if name == "WORKER_MACHINE_COUNT":
        return _count_text(name, options.worker_machines, "0")
    if (
        name == "KUBERNETES_VERSION"
        and (version := options.kubernetes_version or os.environ.get(name)) is not None
    ):
        return version
    return default if default is None or default.startswith('"') else go_quoted(default)


def _count_text(name: str, count: int | None, default: str) -> str:
    return os.environ.get(name, default) if count is None else str(count)
