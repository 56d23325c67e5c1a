"""Providers, images and cert-manager, as the configuration has them."""

from __future__ import annotations

from datetime import timedelta
from tempfile import NamedTemporaryFile

import pytest

from kapy.clusterctl.config import Config, load
from kapy.clusterctl.config.cert_manager import DEFAULT_TIMEOUT, DEFAULT_URL, DEFAULT_VERSION
from kapy.clusterctl.errors import ConfigError
from kapy.clusterctl.provider import ProviderType, manifest_label

INFRASTRUCTURE = ProviderType.INFRASTRUCTURE


def configured(text: str) -> Config:
    environ = {"HOME": "/home/me", "CLUSTERCTL_REPOSITORY_PATH": "/releases"}
    with NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        return load(file.name, environ)


def test_a_configured_provider_replaces_a_predefined_one() -> None:
    text = """
    Providers:
    - {name: aws, type: InfrastructureProvider, url: "${HOME}/infrastructure-aws/v1.0.0/c.yaml"}
    - {name: herd, type: AddonProvider, url: "${CLUSTERCTL_REPOSITORY_PATH}/addon-herd/latest/c"}
    """
    config = configured(text)
    before = load(None, {"HOME": "/nowhere"})
    assert len(config.providers) == len(before.providers) + 1
    assert config.provider("aws", INFRASTRUCTURE).url == "/home/me/infrastructure-aws/v1.0.0/c.yaml"
    assert config.provider("herd", ProviderType.ADDON).url == "/releases/addon-herd/latest/c"
    assert config.providers == sorted(config.providers, key=lambda provider: provider.sort_key)


@pytest.mark.parametrize("kind", ProviderType)
def test_providers_of_every_type_can_be_configured(kind: ProviderType) -> None:
    name = "cluster-api" if kind is ProviderType.CORE else "herd"
    config = configured(f"providers: [{{name: {name}, type: {kind.value}, url: /a/b/latest/c}}]")
    assert config.provider(name, kind).url == "/a/b/latest/c"


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{type: AddonProvider, url: /x}", "name value cannot be empty"),
        ("{name: Herd, type: AddonProvider, url: /x}", "must be in lower case"),
        ("{name: a_b, type: AddonProvider, url: /x}", "invalid provider name: a lowercase RFC"),
        (
            f"{{name: {'a' * 64}, type: AddonProvider, url: /x}}",
            "no more than 63 characters",
        ),
        ("{name: a.b, type: AddonProvider, url: /x}", "invalid provider name"),
        ("{name: -a, type: AddonProvider, url: /x}", "invalid provider name"),
        ("{name: cluster-api, type: AddonProvider, url: /x}", "must be used with the CoreProvider"),
        ("{name: core, type: CoreProvider, url: /x}", "must be used with the CoreProvider"),
        ("{name: a, type: AddonProvider}", "provider URL value cannot be empty"),
        ("{name: a, type: AddonProvider, url: 'http://[x'}", "error parsing provider URL"),
        ("{name: a, type: AddonProvider, url: '${A'}", "unable to evaluate url"),
        ("{name: a, type: Addon, url: /x}", "invalid provider type. Allowed values are [Core"),
        ("a", "must be a list of maps"),
        (
            "{name: a, type: AddonProvider, url: /x}\n- {name: a, type: AddonProvider, url: /y}",
            "providers[1]: there is a AddonProvider a already: name and type must be unique",
        ),
    ],
)
def test_a_provider_that_breaks_a_rule_is_reported(entry: str, said: str) -> None:
    config = configured(f"A: still there\nproviders:\n- {entry}")
    assert config.variables.get("A") == "still there"
    with pytest.raises(ConfigError) as error:
        _ = config.providers
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("name", "kind", "near"),
    [
        ("asw", INFRASTRUCTURE, "(the nearest names are aws"),
        ("k0smotron", INFRASTRUCTURE, "(the nearest names are k0sproject-k0smotron)"),
        ("fleet", ProviderType.ADDON, "(the nearest names are rancher-fleet)"),
        (
            "kubeadm",
            INFRASTRUCTURE,
            "(kubeadm is the name of a BootstrapProvider and a ControlPlaneProvider)",
        ),
        ("qqqqqqqq", INFRASTRUCTURE, "config file"),
    ],
)
def test_an_unknown_provider_is_reported_with_the_nearest_names(
    name: str, kind: ProviderType, near: str
) -> None:
    with pytest.raises(ConfigError) as error:
        load(None, {"HOME": "/nowhere"}).provider(name, kind)
    assert near in str(error.value)


LABELS_OF_THE_CONTRACT = """
    cluster-api bootstrap-kubeadm bootstrap-microk8s bootstrap-kubekey-k3s control-plane-kubeadm
    control-plane-microk8s control-plane-nested control-plane-kubekey-k3s infrastructure-aws
    infrastructure-byoh infrastructure-cloudstack infrastructure-docker
    infrastructure-digitalocean infrastructure-gcp infrastructure-hetzner infrastructure-ibmcloud
    infrastructure-kubekey infrastructure-kubevirt infrastructure-metal3 infrastructure-nested
    infrastructure-openstack infrastructure-oci infrastructure-vsphere infrastructure-vcluster
    infrastructure-vcd infrastructure-nutanix infrastructure-azure infrastructure-outscale
    ipam-in-cluster
"""
"""Those of its list that v1.14 has; the others have the prefix of an organisation now, or went."""


def test_predefined_providers_have_the_labels_of_the_contract() -> None:
    labels = [
        manifest_label(provider.name, provider.type)
        for provider in load(None, {"HOME": "/x"}).providers
    ]
    assert set(LABELS_OF_THE_CONTRACT.split()) <= set(labels)
    assert len(labels) == len(set(labels))
    assert {"infrastructure-hivelocity-hivelocity", "bootstrap-k0sproject-k0smotron"} <= set(labels)


NAMES_WITHOUT_ORGANISATION = """
    byoh canonical-kubernetes coxedge hetzner hosted-control-plane huawei kamaji kubekey kubekey-k3s
    maas metal-stack metal3 microk8s nutanix oci opennebula outscale oxide proxmox rke2 scaleway
    sidero talos vcd vcluster virtink
"""
"""Providers outside of kubernetes-sigs to which v1.14's list gives their own name only."""
PREFIXES = {"rancher-sandbox": "harvester", "ionos-cloud": "ionoscloud"}
"""Prefixes that differ from the organisation."""


def test_predefined_providers_of_other_organisations_have_their_prefix() -> None:
    names = NAMES_WITHOUT_ORGANISATION.split()
    for provider in load(None, {"HOME": "/x"}).providers:
        organisation = provider.url.removeprefix("https://github.com/").split("/")[0]
        if organisation != "kubernetes-sigs" and provider.name not in names:
            assert provider.name.startswith(PREFIXES.get(organisation, organisation)), provider


IMAGES = """
images:
  all: {repository: mirror.local/all/}
  cert-manager: {tag: v1.5.3}
  cert-manager/cert-manager-cainjector: {name: injector}
  cluster-api: {repository: mirror.local/capi, name: controller, tag: v2}
"""
DIGEST = f"sha256:{'0' * 64}"


@pytest.mark.parametrize(
    ("component", "image", "altered"),
    [
        ("infrastructure-aws", "registry.k8s.io/aws/c:v1", "mirror.local/all/c:v1"),
        ("cert-manager", "quay.io/jetstack/webhook:v1", "mirror.local/all/webhook:v1.5.3"),
        (
            "cert-manager",
            "quay.io/jetstack/cert-manager-cainjector:v1",
            "mirror.local/all/injector:v1.5.3",
        ),
        ("cluster-api", "registry.k8s.io/a/b/c:v1", "mirror.local/capi/controller:v2"),
        ("x", f"localhost:5000/c:v1@{DIGEST}", f"mirror.local/all/c:v1@{DIGEST}"),
        ("x", f"docker.io/library/c@{DIGEST}", f"mirror.local/all/c@{DIGEST}"),
    ],
)
def test_images_come_from_where_the_file_says(component: str, image: str, altered: str) -> None:
    assert configured(IMAGES).images.override(component, image) == altered
    assert configured("").images.override(component, image) == image


@pytest.mark.parametrize(
    ("image", "said"),
    [
        ("nginx", "is no image with its registry"),
        ("library/nginx:1", "must be canonical"),
        ("docker.io/nginx:1", "must be canonical"),
        ("index.docker.io/library/nginx:1", "must be canonical"),
        ("x.io/A:1", "is no image"),
        ("x.io/a:!", "is no image"),
    ],
)
def test_an_image_without_its_whole_name_is_reported(image: str, said: str) -> None:
    with pytest.raises(ConfigError, match="couldn't parse image name") as error:
        configured(IMAGES).images.override("x", image)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [("images: [1]", "must be a map of components"), ("images: {all: x}", "images.all must be")],
)
def test_wrong_image_settings_are_reported(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        configured(text).images.override("x", "x.io/a:1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", (DEFAULT_URL, DEFAULT_VERSION, DEFAULT_TIMEOUT, False)),
        (
            "{url: '${HOME}/c.yaml', version: v1.1.1, timeout: 15m, externallyProvisioned: true}",
            ("/home/me/c.yaml", "v1.1.1", timedelta(minutes=15), True),
        ),
        ("{timeout: soon}", (DEFAULT_URL, DEFAULT_VERSION, DEFAULT_TIMEOUT, False)),
        ("{externallyProvisioned: 'F'}", (DEFAULT_URL, DEFAULT_VERSION, DEFAULT_TIMEOUT, False)),
    ],
)
def test_cert_manager_is_the_default_or_the_configured_one(
    text: str, expected: tuple[object, ...]
) -> None:
    manager = configured(f"cert-manager: {text}").cert_manager
    assert (
        manager.url,
        manager.version,
        manager.timeout,
        manager.externally_provisioned,
    ) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "must be a map"),
        ("{externallyProvisioned: maybe}", "true or"),
    ],
)
def test_wrong_cert_manager_settings_are_reported(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        _ = configured(f"cert-manager: {text}").cert_manager
