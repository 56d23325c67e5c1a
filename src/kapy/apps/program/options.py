"""The options of a program besides those of its controllers: upstream's flags in one table.

Names, defaults and meanings are upstream's (`core/main.go` and the other managers,
`util/flags/manager.go`).
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final

from kapy.apps.manager_flags import Flag, InvalidFlag, Manager, count, length, read_flag, text
from kapy.engine.leadership import LeaderElectionConfig
from kapy.kube import Key
from kapy.kube.digits import parse_digits

_BOOLEANS: Final = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
_TLS: Final = {
    "VersionTLS10": ssl.TLSVersion.TLSv1_2,
    "VersionTLS11": ssl.TLSVersion.TLSv1_2,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}
"""Versions of TLS that can be chosen; older ones are not offered."""

MAX_SHARDS: Final = 100
REMOTE_QPS: Final = 20.0
REMOTE_BURST: Final = 30.0
SERVING: Final = "/tmp/k8s-webhook-server/serving-certs/"
LEASE_LENGTHS: Final = ("15s", "10s", "2s")
_LONG_LEASE_LENGTHS: Final = ("1m0s", "40s", "5s")
_IGNORED: Final = "Known to upstream's managers; nothing here goes by it."


def _parse_bool(texts: Sequence[str]) -> bool:
    result = _BOOLEANS.get(texts[-1].lower())
    if result is None:
        raise ValueError(f"{texts[-1]!r} is not true or false")
    return result


def _parse_rate(texts: Sequence[str]) -> float:
    try:
        return float(texts[-1])
    except ValueError:
        raise ValueError(f"{texts[-1]!r} is not a number") from None


def _parse_shards(texts: Sequence[str]) -> int:
    number = parse_digits(texts[-1])
    if number is None or number > MAX_SHARDS:
        raise ValueError(f"{texts[-1]!r} is not a number of managers, up to {MAX_SHARDS}")
    return number


def _parse_port(texts: Sequence[str]) -> int:
    number = parse_digits(texts[-1])
    if number is None or number > 65535:
        raise ValueError(f"{texts[-1]!r} is not a port")
    return number


def _accept_only(name: str) -> Callable[[Sequence[str]], str]:
    def read(texts: Sequence[str]) -> str:
        if texts[-1] != name:
            raise ValueError(f"{texts[-1]!r} cannot be read: only a file called {name} is")
        return name

    return read


def _tls_version(texts: Sequence[str]) -> ssl.TLSVersion:
    if texts[-1] not in _TLS:
        raise ValueError(f"there is no version {texts[-1]!r} (there are {', '.join(_TLS)})")
    return _TLS[texts[-1]]


def _split(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(part.strip() for item in texts for part in item.split(",") if part.strip())


_MANAGERS: Final[frozenset[Manager]] = frozenset(
    ("core", "kubeadm-bootstrap", "kubeadm-control-plane", "docker")
)
_ALL: Final[frozenset[Manager]] = _MANAGERS | {"provider"}
_SHARED: Final = _MANAGERS - {"docker"}
"""Machines in memory are in one process, and cannot be looked after by another one."""
_LONG_LEASE_MANAGERS: Final[frozenset[Manager]] = frozenset(("kubeadm-control-plane",))
_DOCKER: Final[frozenset[Manager]] = _MANAGERS - _SHARED
_NO_CONTROLLERS: Final = {
    "devmachinetemplate": 50,
    "dockercluster": 50,
    "dockermachine": 100,
    "dockermachinepool": 50,
    "dockermachinetemplate": 50,
}
"""Default concurrency of controllers that only upstream's dev infrastructure has: this program has
no Docker, and templates need no controller. The flags are accepted without effect."""


def _lease_flags(lengths: tuple[str, str, str], of: frozenset[Manager]) -> tuple[Flag, ...]:
    duration, deadline, retry = lengths
    return (
        Flag(
            "leader-elect-lease-duration",
            length,
            duration,
            "Time without a renewal after which another manager may take the lease.",
            of,
        ),
        Flag(
            "leader-elect-renew-deadline",
            length,
            deadline,
            "Time without a renewal after which the leader stops.",
            of,
        ),
        Flag("leader-elect-retry-period", length, retry, "Time between tries.", of),
    )


FLAGS: Final = (
    Flag("leader-elect", _parse_bool, "false", "One of several managers works.", _ALL, switch=True),
    Flag(
        "shards",
        _parse_shards,
        "0",
        "How many of these managers work side by side, each on clusters of its own, by leases with "
        "the lengths of --leader-elect; further ones stand by. 0: each works on everything.",
        _SHARED,
    ),
    *_lease_flags(LEASE_LENGTHS, _ALL - _LONG_LEASE_MANAGERS),
    *_lease_flags(_LONG_LEASE_LENGTHS, _LONG_LEASE_MANAGERS),
    Flag(
        "leader-elect-namespace",
        text,
        "",
        "Namespace of the lease: that of this pod, or of the kubeconfig's context.",
        _ALL,
    ),
    Flag("kube-api-qps", _parse_rate, "100", "Requests a second to the API server, at most.", _ALL),
    Flag("kube-api-burst", _parse_rate, "200", "Requests at a time, at most.", _ALL),
    Flag(
        "clustercache-client-qps",
        _parse_rate,
        "20",
        "Requests a second to each workload cluster, at most.",
        _MANAGERS,
    ),
    Flag(
        "clustercache-client-burst",
        _parse_rate,
        "30",
        "Requests at a time to each, at most.",
        _MANAGERS,
    ),
    Flag("webhook-port", _parse_port, "9443", "Port of the webhooks; 0 for none.", _ALL),
    Flag("webhook-cert-dir", text, SERVING, "Folder of the webhooks' certificate.", _ALL),
    Flag(
        "webhook-cert-name",
        _accept_only("tls.crt"),
        "tls.crt",
        "File of the certificate in it.",
        _ALL,
    ),
    Flag("webhook-key-name", _accept_only("tls.key"), "tls.key", "File of the key in it.", _ALL),
    Flag(
        "webhook-namespace",
        text,
        "",
        "Namespace of the webhooks' Service: that of this pod. Where the folder has no "
        "certificate, one is made, and its authority told to the API server.",
        _ALL,
    ),
    Flag("health-addr", text, ":9440", "Address of /healthz and /readyz; 0 for none.", _ALL),
    Flag(
        "diagnostics-address",
        text,
        ":8443",
        "Address of /metrics and of the log level, over HTTPS, for those whom the API server "
        "knows and lets see it; 0 for none.",
        _ALL,
    ),
    Flag(
        "insecure-diagnostics",
        _parse_bool,
        "false",
        "Show /metrics over HTTP to anybody; nothing else is shown then.",
        _ALL,
        switch=True,
    ),
    Flag(
        "tls-min-version",
        _tls_version,
        "VersionTLS12",
        f"The oldest TLS that webhooks and diagnostics speak: {', '.join(_TLS)}.",
        _ALL,
    ),
    Flag(
        "tls-cipher-suites",
        _split,
        "",
        "Cipher suites of TLS 1.2, by IANA's names, commas between.",
        _ALL,
        several=True,
    ),
    Flag("profiler-address", text, "", _IGNORED, _MANAGERS),
    Flag("contention-profiling", _parse_bool, "false", _IGNORED, _MANAGERS, switch=True),
    Flag("etcd-dial-timeout-duration", length, "10s", _IGNORED, _LONG_LEASE_MANAGERS),
    Flag("etcd-call-timeout-duration", length, "15s", _IGNORED, _LONG_LEASE_MANAGERS),
    Flag("etcd-client-log-level", text, "info", _IGNORED, _LONG_LEASE_MANAGERS),
    Flag("log-flush-frequency", length, "5s", _IGNORED, _MANAGERS),
    *(
        Flag(name, _parse_bool, "false", _IGNORED, _MANAGERS, switch=True)
        for name in ("log-json-split-stream", "log-text-split-stream")
    ),
    *(
        Flag(name, text, "0", _IGNORED, _MANAGERS)
        for name in ("log-json-info-buffer-size", "log-text-info-buffer-size")
    ),
    Flag("vmodule", _split, "", _IGNORED, _MANAGERS, several=True),
    *(
        Flag(f"{name}-concurrency", count, str(max_bytes), _IGNORED, _DOCKER)
        for name, max_bytes in _NO_CONTROLLERS.items()
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramOptions:
    """The options of a program.

    lease_lengths: lease duration, renew deadline and retry period; None without leader election.
    shards: the number of programs that divide the clusters among them, 0 for one program.
    lease_namespace: the namespace of the Lease, "" for the default. qps, burst: the rate limit of
    requests to the API server. remote_qps, remote_burst: the rate limit of requests to each
    workload cluster. webhook_namespace: the namespace of the Service of webhooks, "" for that of
    this Pod. certificates: a folder that may contain tls.crt and tls.key. health, diagnostics: the
    addresses of these endpoints, "0" for none.
    """

    lease_lengths: tuple[float, float, float] | None = None
    shards: int = 0
    lease_namespace: str = ""
    qps: float = 100
    burst: float = 200
    remote_qps: float = REMOTE_QPS
    remote_burst: float = REMOTE_BURST
    webhook_port: int = 9443
    webhook_namespace: str = ""
    certificates: Path = field(default=Path(SERVING))
    health: str = ":9440"
    diagnostics: str = ":8443"
    insecure_diagnostics: bool = False
    tls_version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2
    cipher_suites: tuple[str, ...] = ()

    @property
    def has_certificate(self) -> bool:
        """Whether the folder contains a certificate for the webhooks."""
        return (self.certificates / "tls.crt").exists()

    def restrict(self, context: ssl.SSLContext) -> None:
        """Apply the TLS version and cipher suites to a context. Raises InvalidFlag."""
        context.minimum_version = self.tls_version
        if self.cipher_suites:
            try:
                context.set_ciphers(":".join(self.cipher_suites))
            except ssl.SSLError:
                suites = ", ".join(self.cipher_suites)
                raise InvalidFlag(f"--tls-cipher-suites: none of {suites} is known here") from None

    def leader_election(self, lease: Key, identity: str) -> LeaderElectionConfig | None:
        """Return the leader election settings; None without leader election. Raises InvalidFlag."""
        if self.lease_lengths is None:
            return None
        duration, deadline, retry = self.lease_lengths
        try:
            return LeaderElectionConfig(
                lease=lease,
                identity=identity,
                duration=duration,
                renew_deadline=deadline,
                retry_period=retry,
            )
        except ValueError as error:
            raise InvalidFlag(f"--leader-elect-lease-duration: {error}") from None


def flags_of(manager: Manager) -> list[Flag]:
    """Return the flags of one program, without those of its controllers."""
    return [flag for flag in FLAGS if manager in flag.of]


def parse_options(manager: Manager, texts: Mapping[str, Sequence[str]]) -> ProgramOptions:
    """Parse the texts of flags. Raises InvalidFlag with the name of the flag."""
    result = {
        flag.name: read_flag(flag, texts.get(flag.name) or (flag.default,))
        for flag in flags_of(manager)
    }
    lengths = None
    shards = result.get("shards", 0)
    if result["leader-elect"] or shards:
        lengths = (
            _seconds(result["leader-elect-lease-duration"]),
            _seconds(result["leader-elect-renew-deadline"]),
            _seconds(result["leader-elect-retry-period"]),
        )
    return ProgramOptions(
        lease_lengths=lengths,
        shards=shards,
        lease_namespace=result["leader-elect-namespace"],
        qps=result["kube-api-qps"],
        burst=result["kube-api-burst"],
        remote_qps=result.get("clustercache-client-qps", REMOTE_QPS),
        remote_burst=result.get("clustercache-client-burst", REMOTE_BURST),
        webhook_port=result["webhook-port"],
        webhook_namespace=result["webhook-namespace"],
        certificates=Path(result["webhook-cert-dir"]),
        health=result["health-addr"],
        diagnostics=result["diagnostics-address"],
        insecure_diagnostics=result["insecure-diagnostics"],
        tls_version=result["tls-min-version"],
        cipher_suites=result["tls-cipher-suites"],
    )


def _seconds(length: timedelta) -> float:
    return length.total_seconds()
