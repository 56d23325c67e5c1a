"""The providers that are known without a configuration file: upstream v1.14's list.

Names of newer providers (after 2024) outside kubernetes-sigs begin with their GitHub
organisation. That is a convention of this list; names in a configuration file need not follow it.
"""

from __future__ import annotations

from typing import Final

from kapy.clusterctl.provider import Provider, ProviderType

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
