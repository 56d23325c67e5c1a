"""Validation of KubeadmConfigs, and of the same specification in templates and control planes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kapy.api.absent import is_defined
from kapy.api.features import FeatureGates
from kapy.api.kubeadm_config import KubeadmConfig, KubeadmConfigSpec, KubeadmConfigTemplate
from kapy.api.kubeadm_node import InitConfiguration, JoinConfiguration
from kapy.api.validation.metadata import template_metadata_errors
from kapy.kube.field_errors import NO_VALUE, FieldError, forbidden, invalid, required
from kapy.kube.model import encode

IGNITION: Final = "ignition"

_GATE_CLOSED: Final = (
    "can be set only if the KubeadmBootstrapFormatIgnition feature gate is enabled"
)
_NOT_WITH_IGNITION: Final = f'not supported when spec.format is set to: "{IGNITION}"'


def kubeadm_config_errors(
    config: KubeadmConfig, _: KubeadmConfig | None, gates: FeatureGates
) -> list[FieldError]:
    """Return the validation errors of a KubeadmConfig."""
    return config_spec_errors(config.spec, "spec", gates)


def kubeadm_config_template_errors(
    template: KubeadmConfigTemplate, _: KubeadmConfigTemplate | None, gates: FeatureGates
) -> list[FieldError]:
    """Return the validation errors of a KubeadmConfigTemplate."""
    inner = template.spec.template
    errors = config_spec_errors(inner.spec, "spec.template.spec", gates)
    return errors + template_metadata_errors(inner.metadata, "spec.template.metadata")


def config_spec_errors(spec: KubeadmConfigSpec, path: str, gates: FeatureGates) -> list[FieldError]:
    """Return the errors of the specification of a machine's bootstrap data."""
    return [
        *_file_errors(spec, path),
        *_user_errors(spec, path),
        *_ignition_errors(spec, path, gates),
        *_disk_errors(spec, path),
        *_discovery_errors(spec, path),
    ]


def timeout_errors(spec: KubeadmConfigSpec, path: str) -> list[FieldError]:
    """Return an error if the first and the further control plane machines have different
    timeouts.
    """
    name = "controlPlaneComponentHealthCheckSeconds"
    init, join = _timeout(spec.init_configuration), _timeout(spec.join_configuration)
    if init == join:
        return []
    problem = (
        f"{name} must be set to the same value both in initConfiguration.timeouts ({init}) and in "
        f"joinConfiguration.timeouts ({join})"
    )
    return [
        invalid(f"{path}.initConfiguration.timeouts.{name}", init, problem),
        invalid(f"{path}.joinConfiguration.timeouts.{name}", join, problem),
    ]


def _timeout(configuration: InitConfiguration | JoinConfiguration) -> str:
    seconds = configuration.timeouts.control_plane_component_health_check_seconds
    return "unset" if seconds is None else str(seconds)


def _file_errors(spec: KubeadmConfigSpec, path: str) -> Iterator[FieldError]:
    paths: set[str] = set()
    for number, file in enumerate(spec.files):
        where = f"{path}.files[{number}]"
        if file.content_from is not None and is_defined(file.content_from):
            if file.content:
                problem = "only one of content or contentFrom may be specified for a single file"
                # The content is often a secret, so the error does not quote it.
                yield FieldError("FieldValueInvalid", where, problem, NO_VALUE)
            secret = file.content_from.secret
            yield from _secret_errors(secret.name, secret.key, f"{where}.contentFrom.secret")
        if file.path in paths:
            problem = "path property must be unique among all files"
            yield invalid(f"{where}.path", file.path, problem)
        paths.add(file.path)


def _user_errors(spec: KubeadmConfigSpec, path: str) -> Iterator[FieldError]:
    for number, user in enumerate(spec.users):
        if user.passwd_from is None or not is_defined(user.passwd_from):
            continue
        where = f"{path}.users[{number}]"
        if user.passwd:
            problem = "only one of passwd or passwdFrom may be specified for a single user"
            yield FieldError("FieldValueInvalid", where, problem, NO_VALUE)
        secret = user.passwd_from.secret
        yield from _secret_errors(secret.name, secret.key, f"{where}.passwdFrom.secret")


def _secret_errors(name: str, key: str, path: str) -> Iterator[FieldError]:
    if not name:
        yield required(f"{path}.name", "secret file source must specify non-empty secret name")
    if not key:
        yield required(f"{path}.key", "secret file source must specify non-empty secret key")


def _ignition_errors(
    spec: KubeadmConfigSpec, path: str, gates: FeatureGates
) -> Iterator[FieldError]:
    described = bool(encode(spec.ignition))
    if not gates.kubeadm_bootstrap_format_ignition:
        if spec.format == IGNITION:
            yield forbidden(f"{path}.format", _GATE_CLOSED)
        if described:
            yield forbidden(f"{path}.ignition", _GATE_CLOSED)
    elif spec.format != IGNITION:
        if described:
            problem = f'must be set to "{IGNITION}" if spec.ignition is set'
            yield invalid(f"{path}.format", spec.format, problem)
    else:
        yield from _errors_with_ignition(spec, path)


def _errors_with_ignition(spec: KubeadmConfigSpec, path: str) -> Iterator[FieldError]:
    for number, user in enumerate(spec.users):
        if user.inactive:
            yield forbidden(f"{path}.users[{number}].inactive", _NOT_WITH_IGNITION)
    for number, file in enumerate(spec.files):
        if file.encoding in ("gzip", "gzip+base64"):
            yield forbidden(f"{path}.files[{number}].encoding", _NOT_WITH_IGNITION)
    if spec.boot_commands:
        yield forbidden(f"{path}.bootCommands", _NOT_WITH_IGNITION)
    yield from _disks_unsupported_by_ignition(spec, path)


def _disks_unsupported_by_ignition(spec: KubeadmConfigSpec, path: str) -> Iterator[FieldError]:
    for number, partition in enumerate(spec.disk_setup.partitions):
        if partition.table_type not in ("", "gpt"):
            where = f"{path}.diskSetup.partitions[{number}].tableType"
            problem = (
                f'only partition type "gpt" is supported when spec.format is set to "{IGNITION}"'
            )
            yield invalid(where, partition.table_type, problem)
    for number, system in enumerate(spec.disk_setup.filesystems):
        where = f"{path}.diskSetup.filesystems[{number}]"
        if system.replace_fs:
            yield forbidden(f"{where}.replaceFS", _NOT_WITH_IGNITION)
        if system.partition:
            yield forbidden(f"{where}.partition", _NOT_WITH_IGNITION)


def _disk_errors(spec: KubeadmConfigSpec, path: str) -> Iterator[FieldError]:
    for number, partition in enumerate(spec.disk_setup.partitions):
        total = sum(partition_spec.percentage for partition_spec in partition.disk_layout)
        if total > 100:
            where = f"{path}.diskSetup.partitions[{number}].diskLayout"
            problem = "the sum of all partition percentages must not be greater than 100"
            yield invalid(where, total, problem)


def _discovery_errors(spec: KubeadmConfigSpec, path: str) -> Iterator[FieldError]:
    file = spec.join_configuration.discovery.file
    user = file.kube_config.user if file is not None and file.kube_config is not None else None
    if user is not None and user.auth_provider is not None and user.exec is not None:
        where = f"{path}.joinConfiguration.discovery.file.kubeconfig.user"
        # The error shows no value: it may contain credentials.
        problem = "only one of authProvider or exec must be defined"
        yield FieldError("FieldValueInvalid", where, problem, NO_VALUE)
