"""The template of a new cluster: from a provider's repository, a URL, or a ConfigMap.

The user's options become variables of the template. Upstream: `GetClusterTemplate` and
`templateOptionsToVariables` in `cmd/clusterctl/client/config.go`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from kapy.clusterctl.config.variables import Variables
from kapy.clusterctl.errors import TemplateError
from kapy.clusterctl.provider import (
    Provider,
    ProviderType,
    cluster_template,
    parse_reference,
    text_of,
)
from kapy.clusterctl.repository import repository_of
from kapy.clusterctl.repository.releases import semantic
from kapy.clusterctl.templates import Template, template_of, template_variables
from kapy.clusterctl.templates.classes import Release, with_classes
from kapy.clusterctl.templates.sources import DEFAULT_KEY, text_at, text_of_config_map
from kapy.kube.errors import KapyError
from kapy.kube.qualified_names import dns_label_errors, dns_subdomain_errors

if TYPE_CHECKING:
    from kapy.client.client import Client
    from kapy.clusterctl.config import Config


_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}")


class Management(Protocol):
    """A management cluster, and the current namespace."""

    @property
    def client(self) -> Client: ...

    @property
    def namespace(self) -> str: ...


Connect: TypeAlias = Callable[[], Management]
"""Connects to the management cluster on demand. Raises KapyError if there is none."""


@dataclass(frozen=True)
class FromRepository:
    """A template of a provider. infrastructure: `name[:version]`; missing parts are those of the
    management cluster."""

    infrastructure: str = ""
    flavor: str = ""


@dataclass(frozen=True)
class FromPlace:
    """A path, a URL, or `-` for standard input."""

    place: str


@dataclass(frozen=True)
class FromConfigMap:
    """A key of a ConfigMap of the management cluster; namespace "" is the current one."""

    name: str = ""
    namespace: str = ""
    key: str = ""


Source: TypeAlias = FromRepository | FromPlace | FromConfigMap


@dataclass(frozen=True)
class TemplateOptions:
    """A cluster's name and namespace, its version, and its machine counts.

    None and "" leave a value to the environment, the configuration file and the template.
    """

    name: str
    namespace: str = ""
    kubernetes_version: str = ""
    control_plane_machines: int | None = None
    worker_machines: int | None = None


async def cluster_template_of(
    source: Source,
    options: TemplateOptions,
    config: Config,
    reach: Connect,
    *,
    list_only: bool = False,
    check_contract: bool = False,
) -> Template:
    """Return the template of a new cluster with its variables replaced; list_only: only its
    variables.

    check_contract: the user named a management cluster, so its contract is checked before a
    provider's template is read; Cluster API need not be installed. The options become variables of
    `config`. The management cluster is only asked for values that the user did not give, and for
    existing ClusterClasses. Raises ClusterctlError, ApiError.
    """
    options = replace(options, namespace=options.namespace or _current_namespace(reach))
    _set_variables(options, config.variables)
    if isinstance(source, FromRepository):
        if check_contract:
            from kapy.clusterctl.inventory import Inventory

            await Inventory(reach().client).check_contract(not_installed=True)
        return await _from_repository(source, options, config, reach, list_only=list_only)
    if isinstance(source, FromPlace):
        text, name = await text_at(source.place, config), source.place
    else:
        text, name = await _from_config_map(source, reach), f"ConfigMap {source.name}"
    return _read(text, options, config, name, list_only=list_only)


def _current_namespace(reach: Connect) -> str:
    try:
        return reach().namespace
    except KapyError as error:
        raise TemplateError(
            "management cluster not available. Cannot auto-discover target namespace. Please "
            f"specify a target namespace: {error}"
        ) from error


def _read(
    text: str, options: TemplateOptions, config: Config, name: str, *, list_only: bool
) -> Template:
    return (
        template_variables(text)
        if list_only
        else template_of(text, config.variables, options.namespace, name)
    )


async def _from_config_map(source: FromConfigMap, reach: Connect) -> str:
    management = reach()
    namespace = source.namespace or management.namespace
    return await text_of_config_map(
        management.client, namespace, source.name, source.key or DEFAULT_KEY
    )


async def _from_repository(
    source: FromRepository,
    options: TemplateOptions,
    config: Config,
    reach: Connect,
    *,
    list_only: bool,
) -> Template:
    provider, version = await _provider(source.infrastructure, config, reach)
    repository = repository_of(provider, config)
    name = cluster_template(source.flavor)
    text = await text_of(repository, version, name, provider.label)
    template = _read(text, options, config, name, list_only=list_only)
    release = Release(repository, version, provider.label)
    return await with_classes(template, release, config.variables, lambda: _client(reach))


async def _provider(infrastructure: str, config: Config, reach: Connect) -> tuple[Provider, str]:
    """Return the selected infrastructure provider and its version."""
    name, version = parse_reference(infrastructure) if infrastructure else ("", "")
    if not (name and version):
        name, version = await _installed_provider(name, reach)
    return config.provider(name, ProviderType.INFRASTRUCTURE), version


async def _installed_provider(name: str, reach: Connect) -> tuple[str, str]:
    """Return the only installed infrastructure provider (with this name), and its version."""
    from kapy.clusterctl.inventory import Inventory, default_name, find_installed

    what, instead = (
        (f'version for the provider "{name}" automatically', "a version")
        if name
        else ("default infrastructure provider", "an infrastructure provider")
    )
    try:
        installed = await Inventory(reach().client).installed()
    except KapyError as error:
        raise TemplateError(
            f"management cluster not available. Cannot auto-discover {what}. Please specify "
            f"{instead}: {error}"
        ) from error
    name = name or default_name(installed, ProviderType.INFRASTRUCTURE)
    if not name:
        raise TemplateError(
            "failed to identify the default infrastructure provider. Please specify an "
            "infrastructure provider (--infrastructure name:version)"
        )
    versions = {
        provider.version
        for provider in find_installed(installed, name, ProviderType.INFRASTRUCTURE)
    }
    if len(versions) != 1:
        raise TemplateError(
            f'Unable to identify version for the provider "{name}" automatically. Please specify a '
            f"version (--infrastructure {name}:version)"
        )
    return name, versions.pop()


def _client(reach: Connect) -> Client | None:
    try:
        return reach().client
    except KapyError:
        return None  # a template can be generated without a management cluster


def _set_variables(options: TemplateOptions, variables: Variables) -> None:
    """Set the common variables of templates. Raises TemplateError."""
    if errors := dns_label_errors(options.namespace):
        raise TemplateError(f"invalid target-namespace: {'; '.join(errors)}")
    if errors := dns_subdomain_errors(options.name):
        raise TemplateError(f"invalid cluster name: {'; '.join(errors)}")
    variables.set("NAMESPACE", options.namespace)
    variables.set("CLUSTER_NAME", options.name)
    if options.kubernetes_version:
        if semantic(options.kubernetes_version) is None:
            raise TemplateError(
                "invalid KubernetesVersion. Please use a semantic version number like v1.34.0, "
                f'and not "{options.kubernetes_version}"'
            )
        variables.set("KUBERNETES_VERSION", options.kubernetes_version)
    machines = _count(options.control_plane_machines, "CONTROL_PLANE_MACHINE_COUNT", 1, variables)
    if machines < 1:
        raise TemplateError(
            "invalid ControlPlaneMachineCount. Please use a number greater than or equal to 1"
        )
    variables.set("CONTROL_PLANE_MACHINE_COUNT", str(machines))
    machines = _count(options.worker_machines, "WORKER_MACHINE_COUNT", 0, variables)
    if machines < 0:
        raise TemplateError(
            "invalid WorkerMachineCount. Please use a number greater than or equal to 0"
        )
    variables.set("WORKER_MACHINE_COUNT", str(machines))


def _count(count: int | None, name: str, default: int, variables: Variables) -> int:
    if count is not None:
        return count
    variable = variables.get(name)
    if variable is None:
        return default
    if not _INTEGER.fullmatch(variable):
        raise TemplateError(f'invalid value for {name} set: "{variable}" is no whole number')
    return int(variable)
