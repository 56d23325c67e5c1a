"""The configuration of a cluster's load balancer, an haproxy. Pure.

Users may bring a template of their own (`loadBalancer.customHAProxyConfigTemplateRef`), which is
given what upstream gives it: FrontendControlPlanePort, BackendControlPlanePort, IPv6, and
BackendServers with Address and Weight by container.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kapy.kube.errors import KapyError
from kapy.kube.gotemplate import BadTemplate, CannotRender, parse

REPOSITORY: Final = "kindest"
TAG: Final = "v20230606-42a2262b"
PATH: Final = "/usr/local/etc/haproxy/haproxy.cfg"
FULL_WEIGHT: Final = 100

TEMPLATE: Final = """\
# Written by the controller of the cluster's infrastructure; changes are lost.
global
  log stdout format raw local0 notice
  # More connections need more open files than some hosts allow.
  maxconn 9000

resolvers docker
  nameserver dns 127.0.0.11:53

defaults
  log global
  mode tcp
  option dontlognull
  option clitcpka
  option srvtcpka
  # A machine that was killed sends nothing any more, not even the end of its connections.
  srvtcpka-idle 10s
  srvtcpka-intvl 5s
  srvtcpka-cnt 3
  timeout connect 5s
  # A server that refuses: the others are tried. After a reload each counts as up until its check.
  retries 3
  option redispatch 1
  timeout client 50s
  timeout server 50s
  # A connection on which both sides have spoken: watches may be silent for long.
  timeout tunnel 24h
  timeout check 5s
  # Start also while the name of a backend cannot be resolved. An API server that comes up is used
  # at once: nothing of its cluster goes on before.
  default-server init-addr none inter 2s downinter 500ms fastinter 500ms rise 1 fall 3

frontend stats
  mode http
  bind *:8404
  stats enable
  stats uri /stats
  stats refresh 1s

frontend control-plane
  bind *:{{ .FrontendControlPlanePort }}
  {{ if .IPv6 -}}
  bind :::{{ .FrontendControlPlanePort }}
  {{- end }}
  default_backend kube-apiservers

backend kube-apiservers
  option httpchk GET /healthz
  {{- range $name, $server := .BackendServers }}
  server {{ $name }} {{ JoinHostPort $server.Address $.BackendControlPlanePort }}\
 weight {{ $server.Weight }} check check-ssl verify none\
 resolvers docker resolve-prefer {{ if $.IPv6 }}ipv6{{ else }}ipv4{{ end }}
  {{- end }}
"""


class BadLoadBalancerTemplate(KapyError):
    """A user's template cannot be used; the message says why."""


class Backend(NamedTuple):
    """An API server behind a load balancer. weight: its share of new connections; 0 for none."""

    address: str
    weight: int = FULL_WEIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class Balancing:
    """The settings of a load balancer. backends: API servers by the name of their container."""

    port: int = 6443
    backend_port: int = 6443
    backends: Mapping[str, Backend] = field(default_factory=dict)
    ipv6: bool = False


def image_of(repository: str, tag: str) -> str:
    """Return the image of a load balancer."""
    return f"{repository or REPOSITORY}/haproxy:{tag or TAG}"


def config_text(balancing: Balancing, template: str = "") -> str:
    """Return the configuration file of haproxy. template: a template of the user, "" for the
    default. Raises BadLoadBalancerTemplate.
    """
    servers = {
        name: {"Address": backend.address, "Weight": backend.weight}
        for name, backend in sorted(balancing.backends.items())
    }
    data = {
        "FrontendControlPlanePort": str(balancing.port),
        "BackendControlPlanePort": str(balancing.backend_port),
        "BackendServers": servers,
        "IPv6": balancing.ipv6,
    }
    try:
        text = parse(template or TEMPLATE, name="loadbalancer-config", functions=_FUNCTIONS)
        return text.render(data)
    except (BadTemplate, CannotRender) as error:
        raise BadLoadBalancerTemplate(
            f"the template that loadBalancer.customHAProxyConfigTemplateRef names: {error}"
        ) from None


def _join_host_port(host: object, port: object) -> str:
    return f"[{host}]:{port}" if ":" in str(host) else f"{host}:{port}"


_FUNCTIONS: Final = (("JoinHostPort", _join_host_port),)
