"""The known providers: the predefined ones, merged with those of the configuration file.

The naming rules are those of the clusterctl contract: lower-case letters, digits and `-`, at most
63 of them; name and type unique; only the core provider is called `cluster-api`. Providers of a
file need no GitHub organisation as a prefix, unlike predefined ones: there, names of newer
providers (after 2024) outside kubernetes-sigs begin with it. Upstream:
`cmd/clusterctl/client/config/providers_client.go` of v1.14.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from kapy.clusterctl.config.expansion import expand
from kapy.clusterctl.config.file import File, text_of
from kapy.clusterctl.errors import ConfigError
from kapy.clusterctl.provider import Provider, ProviderType
from kapy.kube.qualified_names import dns_label_errors

_CORE_NAME: Final = "cluster-api"
_ALLOWED: Final = (
    ProviderType.CORE,
    ProviderType.BOOTSTRAP,
    ProviderType.INFRASTRUCTURE,
    ProviderType.CONTROL_PLANE,
    ProviderType.IPAM,
    ProviderType.RUNTIME_EXTENSION,
    ProviderType.ADDON,
)


def configured_providers(file: File, environ: Mapping[str, str]) -> list[Provider]:
    """Return all providers, by type and name; an entry of the file replaces a predefined one.

    Raises ConfigError.
    """
    own: dict[tuple[str, ProviderType], Provider] = {}
    for place, entry in enumerate(_entries(file)):
        provider = _provider(entry, environ)
        if own.setdefault((provider.name, provider.type), provider) is not provider:
            raise ConfigError(
                f"{file.source}: providers[{place}]: there is a {provider.type.value} "
                f"{provider.name} already: name and type must be unique; remove one of the two"
            )
    by_name = {(item.name, item.type): item for item in predefined_providers()}
    return sorted((by_name | own).values(), key=lambda value: value.sort_key)


def choose_provider(providers: Sequence[Provider], name: str, kind: ProviderType) -> Provider:
    """Return the provider of a name and type. Raises ConfigError with the nearest names."""
    for provider in providers:
        if provider.name == name and provider.type is kind:
            return provider
    raise ConfigError(
        f"failed to get configuration for the {kind.value} with name {name}. Please check the "
        "provider name and/or add configuration for new providers using the .clusterctl config "
        f"file{_suggestion(providers, name, kind)}"
    )


def _suggestion(providers: Iterable[Provider], name: str, kind: ProviderType) -> str:
    named = sorted(provider.type.value for provider in providers if provider.name == name)
    if named:
        return f" ({name} is the name of a {' and a '.join(named)})"
    from difflib import get_close_matches  # only for errors

    names = [provider.name for provider in providers if provider.type is kind]
    # Names may begin with a GitHub organisation, which is easily forgotten.
    near = [item for item in names if name and item.endswith(f"-{name}")]
    near += [match for match in get_close_matches(name, names) if match not in near]
    return f" (the nearest names are {', '.join(near)})" if near else ""


def _entries(file: File) -> list[Any]:
    entries = file.values.get("providers") or []
    return entries if isinstance(entries, list) else [entries]


def _provider(entry: Any, environ: Mapping[str, str]) -> Provider:
    if not isinstance(entry, Mapping):
        raise ConfigError(
            "failed to unmarshal providers from the clusterctl configuration file: providers must "
            f"be a list of maps with name, url and type, and one of them is {text_of(entry)!r}"
        )
    name, kind = text_of(entry.get("name")), text_of(entry.get("type"))
    url = expand(text_of(entry.get("url")), environ, "url")
    if problem := _problem(name, kind, url):
        raise ConfigError(
            f"error validating configuration for the {kind} with name {name}. Please fix the "
            f"providers value in clusterctl configuration file: {problem}"
        )
    return Provider(name, ProviderType(kind), url)


def _problem(name: str, kind: str, url: str) -> str:
    if not name:
        return "name value cannot be empty"
    if name != name.lower():
        return f"provider name {name} must be in lower case"
    if (name == _CORE_NAME) != (kind == ProviderType.CORE.value):
        return (
            f"name {_CORE_NAME} must be used with the {ProviderType.CORE.value} type "
            f"(name: {name}, type: {kind})"
        )
    if errors := dns_label_errors(name):
        return f"invalid provider name: {'; '.join(errors)}"
    if not url:
        return "provider URL value cannot be empty"
    if problem := _url_problem(url):
        return f"error parsing provider URL: {problem}"
    if kind not in (item.value for item in _ALLOWED):
        names = ", ".join(item.value for item in _ALLOWED)
        return f"invalid provider type. Allowed values are [{names}]"
    return ""


def _url_problem(url: str) -> str:
    try:
        urlsplit(url)
    except ValueError as error:
        return f"{url}: {error}"
    return ""


_REPOSITORIES: Final[dict[ProviderType, dict[str, str]]] = {
    ProviderType.CORE: {
        "cluster-api": "kubernetes-sigs/cluster-api",
    },
    ProviderType.BOOTSTRAP: {
        "canonical-kubernetes": "canonical/cluster-api-k8s",
        "k0sproject-k0smotron": "k0sproject/k0smotron",
        "kubeadm": "kubernetes-sigs/cluster-api",
        "kubekey-k3s": "kubesphere/kubekey",
        "microk8s": "canonical/cluster-api-bootstrap-provider-microk8s",
        "rke2": "rancher/cluster-api-provider-rke2",
        "talos": "siderolabs/cluster-api-bootstrap-provider-talos",
    },
    ProviderType.CONTROL_PLANE: {
        "canonical-kubernetes": "canonical/cluster-api-k8s",
        "hosted-control-plane": "teutonet/cluster-api-provider-hosted-control-plane",
        "k0sproject-k0smotron": "k0sproject/k0smotron",
        "kamaji": "clastix/cluster-api-control-plane-provider-kamaji",
        "kubeadm": "kubernetes-sigs/cluster-api",
        "kubekey-k3s": "kubesphere/kubekey",
        "microk8s": "canonical/cluster-api-control-plane-provider-microk8s",
        "nested": "kubernetes-sigs/cluster-api-provider-nested",
        "rke2": "rancher/cluster-api-provider-rke2",
        "talos": "siderolabs/cluster-api-control-plane-provider-talos",
    },
    ProviderType.INFRASTRUCTURE: {
        "aws": "kubernetes-sigs/cluster-api-provider-aws",
        "azure": "kubernetes-sigs/cluster-api-provider-azure",
        "byoh": "vmware-tanzu/cluster-api-provider-bringyourownhost",
        "cloudscale-ch-cloudscale": "cloudscale-ch/cluster-api-provider-cloudscale",
        "cloudstack": "kubernetes-sigs/cluster-api-provider-cloudstack",
        "coxedge": "coxedge/cluster-api-provider-coxedge",
        "digitalocean": "kubernetes-sigs/cluster-api-provider-digitalocean",
        "docker": "kubernetes-sigs/cluster-api",
        "gcp": "kubernetes-sigs/cluster-api-provider-gcp",
        "harvester-harvester": "rancher-sandbox/cluster-api-provider-harvester",
        "hetzner": "syself/cluster-api-provider-hetzner",
        "hivelocity-hivelocity": "hivelocity/cluster-api-provider-hivelocity",
        "huawei": "HuaweiCloudDeveloper/cluster-api-provider-huawei",
        "ibmcloud": "kubernetes-sigs/cluster-api-provider-ibmcloud",
        "ionoscloud-ionoscloud": "ionos-cloud/cluster-api-provider-ionoscloud",
        "k0sproject-k0smotron": "k0sproject/k0smotron",
        "kubekey": "kubesphere/kubekey",
        "kubeswift-io": "kubeswift-io/cluster-api-provider-kubeswift",
        "kubevirt": "kubernetes-sigs/cluster-api-provider-kubevirt",
        "linode-linode": "linode/cluster-api-provider-linode",
        "maas": "spectrocloud/cluster-api-provider-maas",
        "metal-stack": "metal-stack/cluster-api-provider-metal-stack",
        "metal3": "metal3-io/cluster-api-provider-metal3",
        "nested": "kubernetes-sigs/cluster-api-provider-nested",
        "nutanix": "nutanix-cloud-native/cluster-api-provider-nutanix",
        "oci": "oracle/cluster-api-provider-oci",
        "opennebula": "OpenNebula/cluster-api-provider-opennebula",
        "openstack": "kubernetes-sigs/cluster-api-provider-openstack",
        "outscale": "outscale/cluster-api-provider-outscale",
        "oxide": "oxidecomputer/cluster-api-provider-oxide",
        "proxmox": "ionos-cloud/cluster-api-provider-proxmox",
        "scaleway": "scaleway/cluster-api-provider-scaleway",
        "sidero": "siderolabs/sidero",
        "tinkerbell-tinkerbell": "tinkerbell/cluster-api-provider-tinkerbell",
        "vcd": "vmware/cluster-api-provider-cloud-director",
        "vcluster": "loft-sh/cluster-api-provider-vcluster",
        "virtink": "smartxworks/cluster-api-provider-virtink",
        "vsphere": "kubernetes-sigs/cluster-api-provider-vsphere",
        "vultr-vultr": "vultr/cluster-api-provider-vultr",
    },
    ProviderType.IPAM: {
        "in-cluster": "kubernetes-sigs/cluster-api-ipam-provider-in-cluster",
        "metal3": "metal3-io/ip-address-manager",
        "nutanix": "nutanix-cloud-native/cluster-api-ipam-provider-nutanix",
    },
    ProviderType.RUNTIME_EXTENSION: {
        "nutanix": "nutanix-cloud-native/cluster-api-runtime-extensions-nutanix",
    },
    ProviderType.ADDON: {
        "eitco-cdk8s": "eitco/cluster-api-addon-provider-cdk8s",
        "helm": "kubernetes-sigs/cluster-api-addon-provider-helm",
        "rancher-fleet": "rancher/cluster-api-addon-provider-fleet",
    },
}

_UNUSUAL_FILES: Final = {
    ("docker", ProviderType.INFRASTRUCTURE): "infrastructure-components-development.yaml",
    ("nutanix", ProviderType.RUNTIME_EXTENSION): "runtime-extensions-components.yaml",
}


def predefined_providers() -> list[Provider]:
    """Return the predefined providers, in list order; each URL is that of the newest GitHub
    release.
    """
    return [
        Provider(name, kind, f"https://github.com/{path}/releases/latest/{_file(name, kind)}")
        for kind, repositories in _REPOSITORIES.items()
        for name, path in repositories.items()
    ]


def _file(name: str, kind: ProviderType) -> str:
    return _UNUSUAL_FILES.get((name, kind), kind.components_file)
