"""The flags of Cluster API's managers: one table, for `kapy up` and for kapy's own managers.

Names, defaults and meanings are upstream's (`core/main.go`, `bootstrap/kubeadm/main.go`,
`controlplane/kubeadm/main.go`, `test/infrastructure/docker/main.go`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from kapy.api.features import DEFAULT_GATES, FeatureGates
from kapy.apps.feature_gates import feature_gates
from kapy.apps.settings import ControllerConfig, ExtensionCalls
from kapy.engine.crd_migration import PHASES, Phase
from kapy.engine.options import CONCURRENCY, ManagerOptions
from kapy.kube import duration
from kapy.kube.digits import parse_digits
from kapy.kube.regexp import BadPattern, Regexp, compile_pattern

Manager = Literal["core", "kubeadm-bootstrap", "kubeadm-control-plane", "docker", "provider"]
"""The program that has a flag: one of upstream's managers, or `provider` for the program of any
other provider, which has the flags that all of them have."""

PREFLIGHT_CHECKS: Final = (
    "All",
    "ControlPlaneIsStable",
    "ControlPlaneVersionSkew",
    "KubeadmVersionSkew",
    "KubernetesVersionSkew",
)
LONGEST_EXTENSION_TIMEOUT: Final = timedelta(seconds=30)
SHORTEST_CONDITIONS_GRACE: Final = timedelta(minutes=2)


class InvalidFlag(ValueError):
    """An invalid value of a flag; the message is a sentence about it."""


class Flag(NamedTuple):
    """One command line flag of the managers. read: parses the values of the flag, raising
    ValueError. several: whether the flag may be repeated, and each value may be a comma-separated
    list. switch: whether the flag means true if it is given without a value. of: the managers that
    have the flag.
    """

    name: str
    read: Callable[[Sequence[str]], Any]
    default: str
    help: str
    of: frozenset[Manager]
    several: bool = False
    switch: bool = False


def text(texts: Sequence[str]) -> str:
    """Return the text of a flag: the last one if the flag is repeated."""
    return texts[-1]


def length(texts: Sequence[str]) -> timedelta:
    """Parse the value of a flag as a positive duration. Raises ValueError."""
    result = duration.parse(texts[-1])
    if result <= timedelta(0):
        raise ValueError(f"{texts[-1]} is no length of time that can pass; say 10m, or 90s")
    return result


def _seconds(texts: Sequence[str]) -> timedelta:
    result = length(texts)
    if result % timedelta(seconds=1) or result > LONGEST_EXTENSION_TIMEOUT:
        raise ValueError(f"{texts[-1]} is not a number of whole seconds up to 30s")
    return result


def _file(texts: Sequence[str]) -> Path | None:
    return Path(texts[-1]) if texts[-1] else None


def count(texts: Sequence[str]) -> int:
    """Parse a number of at least 1. Raises ValueError."""
    number = parse_digits(texts[-1])
    if not number:
        raise ValueError(f"{texts[-1]!r} is not a number of at least 1")
    return number


def _split(texts: Sequence[str]) -> list[str]:
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]


def _patterns(texts: Sequence[str]) -> tuple[Regexp, ...]:
    patterns = []
    for item in _split(texts):
        try:
            patterns.append(compile_pattern(item))
        except BadPattern as error:
            raise ValueError(f"{item!r} is no regular expression: {error}") from None
    return tuple(patterns)


def _checks(texts: Sequence[str]) -> tuple[str, ...]:
    for item in _split(texts):
        if item not in PREFLIGHT_CHECKS:
            names = ", ".join(PREFLIGHT_CHECKS)
            raise ValueError(f"there is no preflight check {item!r} (there are {names})")
    return tuple(_split(texts))


def _phases(texts: Sequence[str]) -> frozenset[Phase]:
    result = _split(texts)
    for item in result:
        if item not in (*PHASES, "All"):
            names = ", ".join(PHASES)
            raise ValueError(f"there is no phase {item!r} (there are {names}; All for both)")
    return frozenset(phase for phase in PHASES if phase in result or "All" in result)


def _gates(texts: Sequence[str]) -> Callable[[FeatureGates], FeatureGates]:
    """Return the default feature gates, changed as requested."""
    feature_gates(texts)
    return partial(feature_gates, texts)


_CORE_MANAGERS: Final[frozenset[Manager]] = frozenset(
    ("core", "kubeadm-bootstrap", "kubeadm-control-plane", "docker")
)
_EVERY_MANAGER: Final[frozenset[Manager]] = _CORE_MANAGERS | {"provider"}
_CORE: Final[frozenset[Manager]] = frozenset(("core",))
_BOOTSTRAP: Final[frozenset[Manager]] = frozenset(("kubeadm-bootstrap",))
_CONTROL_PLANE: Final[frozenset[Manager]] = frozenset(("kubeadm-control-plane",))
_DOCKER: Final[frozenset[Manager]] = frozenset(("docker",))
_OWNERS: Final[Mapping[str, frozenset[Manager]]] = {
    "clustercache": _CORE_MANAGERS,
    "kubeadmconfig": _BOOTSTRAP,
    "kubeadmcontrolplane": _CONTROL_PLANE,
    "devcluster": _DOCKER,
    "devmachine": _DOCKER,
    "devmachinepool": _DOCKER,
}

FLAGS: Final = (
    Flag("namespace", text, "", "Namespace to work in; all where none is named.", _EVERY_MANAGER),
    Flag(
        "watch-filter",
        text,
        "",
        "Value of the label cluster.x-k8s.io/watch-filter of the objects to work on; all where "
        "none is named.",
        _EVERY_MANAGER,
    ),
    Flag(
        "feature-gates",
        _gates,
        "",
        "Features to turn on or off: NAME=true,NAME=false; may be repeated.",
        _EVERY_MANAGER,
        several=True,
    ),
    Flag(
        "sync-period", length, "10m0s", "How often everything is looked at again.", _EVERY_MANAGER
    ),
    Flag(
        "remote-connection-grace-period",
        length,
        "50s",
        "Silence of a workload cluster after which RemoteConnectionProbe of a Cluster is False.",
        _CORE,
    ),
    Flag(
        "remote-conditions-grace-period",
        length,
        "5m0s",
        "Silence of a workload cluster after which conditions like NodeHealthy are Unknown.",
        _CORE | _CONTROL_PLANE,
    ),
    Flag(
        "machineset-preflight-checks",
        _checks,
        "All",
        "Checks before a MachineSet makes Machines; may be repeated.",
        _CORE,
        several=True,
    ),
    Flag(
        "additional-sync-machine-labels",
        _patterns,
        "",
        "Regular expressions of more labels that a Node gets from its Machine; may be repeated.",
        _CORE,
        several=True,
    ),
    Flag(
        "additional-sync-machine-annotations",
        _patterns,
        "",
        "The same for annotations.",
        _CORE,
        several=True,
    ),
    Flag(
        "runtime-extension-client-cert-file",
        _file,
        "",
        "Certificate, PEM, that runtime extensions are shown.",
        _CORE | _CONTROL_PLANE,
    ),
    Flag(
        "runtime-extension-client-key-file",
        _file,
        "",
        "Key, PEM, of that certificate.",
        _CORE | _CONTROL_PLANE,
    ),
    Flag(
        "runtime-extension-max-timeout",
        _seconds,
        "30s",
        "Time that no handler of a runtime extension may exceed, whatever it asks for.",
        _CORE | _CONTROL_PLANE,
    ),
    Flag(
        "skip-crd-migration-phases",
        _phases,
        "",
        "Phases of the migration of objects whose CRDs have changed that are not run: "
        "StorageVersionMigration, CleanupManagedFields, All; commas between.",
        _EVERY_MANAGER,
        several=True,
    ),
    Flag("bootstrap-token-ttl", length, "15m0s", "How long a bootstrap token lasts.", _BOOTSTRAP),
    *(
        Flag(
            f"{name}-concurrency",
            count,
            str(max_bytes),
            f"Keys that the {name} controller works on at a time.",
            _OWNERS.get(name, _CORE),
        )
        for name, max_bytes in CONCURRENCY.items()
    ),
)


def flags_of(*managers: Manager) -> list[Flag]:
    """Return the flags of a program that combines all of these managers."""
    return [flag for flag in FLAGS if flag.of & frozenset(managers)]


def controller_config(
    texts: Mapping[str, Sequence[str]], *, gates: FeatureGates = DEFAULT_GATES
) -> ControllerConfig:
    """Parse the texts of flags to settings; missing flags have their defaults.

    gates: the default feature gates. Raises InvalidFlag with the name of the flag.
    """
    result = {flag.name: read_flag(flag, texts.get(flag.name) or (flag.default,)) for flag in FLAGS}
    connection = result["remote-connection-grace-period"]
    conditions = result["remote-conditions-grace-period"]
    _check_grace_periods(connection, conditions)
    calls = ExtensionCalls(
        max_timeout=result["runtime-extension-max-timeout"],
        certificate=result["runtime-extension-client-cert-file"],
        key=result["runtime-extension-client-key-file"],
    )
    _check_certificate_pair(calls)
    opened = result["feature-gates"](gates)
    manager = ManagerOptions(
        namespace=result["namespace"],
        watch_filter=result["watch-filter"],
        sync_period=result["sync-period"],
        concurrency={name: result[f"{name}-concurrency"] for name in CONCURRENCY},
        gates=opened,
    )
    return ControllerConfig(
        manager=manager,
        connection_grace=connection,
        conditions_grace=conditions,
        preflight_checks=result["machineset-preflight-checks"],
        machine_labels=result["additional-sync-machine-labels"],
        machine_annotations=result["additional-sync-machine-annotations"],
        token_life=result["bootstrap-token-ttl"],
        extensions=calls,
        skipped_migration_phases=result["skip-crd-migration-phases"],
    )


def read_flag(flag: Flag, texts: Sequence[str]) -> Any:
    """Parse the texts of one flag. Raises InvalidFlag with its name."""
    try:
        return flag.read(texts)
    except ValueError as error:
        raise InvalidFlag(f"--{flag.name}: {error}") from None


def _check_certificate_pair(calls: ExtensionCalls) -> None:
    if (calls.certificate is None) != (calls.key is None):
        raise InvalidFlag(
            "--runtime-extension-client-cert-file and --runtime-extension-client-key-file belong "
            "together: say both, or none"
        )


def _check_grace_periods(connection: timedelta, conditions: timedelta) -> None:
    """Check that the grace period of conditions is longer than that of the connection."""
    if conditions <= connection:
        raise InvalidFlag(
            f"--remote-conditions-grace-period ({duration.text(conditions)}) must be greater than "
            f"--remote-connection-grace-period ({duration.text(connection)})"
        )
    if conditions < SHORTEST_CONDITIONS_GRACE:
        raise InvalidFlag(
            f"--remote-conditions-grace-period ({duration.text(conditions)}) must be at least "
            f"{duration.text(SHORTEST_CONDITIONS_GRACE)}"
        )
