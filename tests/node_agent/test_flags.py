"""Ports and paths of programs, told by their own flags."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kapy.node_agent.processes.flags import (
    flags_of,
    with_free_ports,
    with_paths,
    without_leader_election,
)

PFLAG = """Usage of ./manager:
      --diagnostics-address string         The address the diagnostics endpoint binds to. To serve
                                           via http set --insecure-diagnostics. (default ":8443")
      --health-probe-bind-address string   The address. (default ":8081")
      --insecure-diagnostics               Enable insecure diagnostics serving.
      --kube-api-qps float32               Queries per second. (default 20)
      --leader-elect                       Enable leader election.
      --metrics-bind-addr string           Where metrics are. (default "0")
      --profiler-address string            Bind address of the pprof profiler
  -v, --v Level                            number for the log level verbosity
      --webhook-cert-dir string            Webhook cert dir.
      --webhook-port int                   Webhook Server port. (default 9443)
"""
GO_FLAG = """Usage of /tmp/manager:
  -metrics-addr string
        The address the metric endpoint binds to. (default ":8080")
  -webhook-port int
        port (default 9443)
"""
ARGPARSE = """usage: manager.py [-h] [--health-addr HEALTH_ADDR]

options:
  -h, --help            show this help message and exit
  --health-addr HEALTH_ADDR
                        where it listens (default: :9440)
"""
CLICK = """Usage: kapy manager core [OPTIONS]

Options:
  --webhook-port TEXT             Port of the webhooks; 0 for none. [default:
                                  9443]
  --profiler-address TEXT         Known to upstream's managers.
"""


def moved(port: int) -> int:
    return port + 30_000


@pytest.mark.parametrize(
    ("help_text", "arguments", "expected", "ports"),
    [
        (CLICK, [], ["--webhook-port=39443"], {9443: 39443}),
        (
            PFLAG,
            ["--leader-elect", "--diagnostics-address=:8443"],
            [
                "--leader-elect",
                "--diagnostics-address=127.0.0.1:38443",
                "--health-probe-bind-address=127.0.0.1:38081",
                "--webhook-port=39443",
            ],
            {8443: 38443, 8081: 38081, 9443: 39443},
        ),
        (
            PFLAG,
            ["--webhook-port", "7443", "--health-probe-bind-address=0", "--metrics-bind-addr=:1"],
            [
                "--webhook-port", "37443", "--health-probe-bind-address=0",
                "--metrics-bind-addr=127.0.0.1:30001", "--diagnostics-address=127.0.0.1:38443",
            ],
            {7443: 37443, 1: 30001, 8443: 38443},
        ),
        (
            GO_FLAG,
            ["-webhook-port=9443"],
            ["-webhook-port=39443", "--metrics-addr=127.0.0.1:38080"],
            {9443: 39443, 8080: 38080},
        ),
        (ARGPARSE, [], ["--health-addr=127.0.0.1:39440"], {9440: 39440}),
        ("", ["--health-addr=0.0.0.0:9440"], ["--health-addr=127.0.0.1:39440"], {9440: 39440}),
        ("", ["--provider-address=1.2.3.4:80", "--v=5"],
         ["--provider-address=1.2.3.4:80", "--v=5"], {}),
        ("no help at all", ["webhook-port", "9443"], ["webhook-port", "9443"], {}),
    ],
)  # fmt: skip
def test_a_program_listens_on_ports_of_its_own(
    help_text: str, arguments: Sequence[str], expected: Sequence[str], ports: dict[int, int]
) -> None:
    result = with_free_ports(arguments, flags_of(help_text), moved)
    assert (list(result.values), dict(result.ports)) == (list(expected), ports)


def test_paths_of_mounts_become_those_of_the_host() -> None:
    paths = {"/certs": "/pod/certs", "/certs/ca": "/pod/ca"}
    arguments = ["--dir=/certs", "/certs/tls.crt", "--ca=/certs/ca/x", "--other=/certsx", "run"]
    assert with_paths(arguments, paths) == [
        "--dir=/pod/certs", "/pod/certs/tls.crt", "--ca=/pod/ca/x", "--other=/certsx", "run",
    ]  # fmt: skip


def test_a_single_program_needs_no_leader_election() -> None:
    assert without_leader_election(["--leader-elect", "--leader-elect-lease-duration=1s"]) == [
        "--leader-elect=false",
        "--leader-elect-lease-duration=1s",
    ]
