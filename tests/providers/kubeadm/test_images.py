"""Images taken apart, and the image that CoreDNS should have."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.kube.errors import KapyError
from kapy.providers.kubeadm.controlplane.addons import (
    BadCoreDns,
    BadImage,
    Image,
    dns_image,
    parse_image,
    with_repository,
    with_tag,
)
from tests.providers.kubeadm.building import control_plane


@pytest.mark.parametrize(
    ("text", "image"),
    [
        ("nginx", Image("", "nginx", "")),
        ("nginx:1.2", Image("", "nginx", "1.2")),
        ("registry.k8s.io/kube-proxy:v1.34.0", Image("registry.k8s.io", "kube-proxy", "v1.34.0")),
        ("localhost:5000/a/b:x", Image("localhost:5000/a", "b", "x")),
        ("r/n:t@sha256:00ff", Image("r", "n", "t", "@sha256:00ff")),
    ],
)
def test_an_image_is_its_parts(text: str, image: Image) -> None:
    assert parse_image(text) == image
    assert str(image) == text


@pytest.mark.parametrize("text", ["", "a:b:c", "r/", "n:-tag"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(BadImage):
        parse_image(text)


def test_a_version_is_a_tag() -> None:
    assert str(with_tag(Image("r", "n", "old"), "v1.35.0+build.1")) == "r/n:v1.35.0_build.1"
    with pytest.raises(BadImage, match="digest"):
        with_tag(Image("r", "n", "", "@sha256:00"), "v1.35.0")
    assert str(with_repository(Image("r", "n", "t"), "other/deep/")) == "other/deep/n:t"


@pytest.mark.parametrize(
    ("current", "configuration", "expected"),
    [
        ("registry.k8s.io/coredns/coredns:v1.12.1", {}, "registry.k8s.io/coredns/coredns:v1.12.1"),
        (
            "registry.k8s.io/coredns/coredns:v1.12.1",
            {"dns": {"imageTag": "v1.13.0"}},
            "registry.k8s.io/coredns/coredns:v1.13.0",
        ),
        (
            "registry.k8s.io/coredns/coredns:v1.12.1",
            {"imageRepository": "mine.io", "dns": {"imageRepository": "dns.mine.io"}},
            "dns.mine.io/coredns:v1.12.1",
        ),
        (
            "registry.k8s.io/coredns/coredns:v1.12.1",
            {"imageRepository": "mine.io"},
            "mine.io/coredns:v1.12.1",
        ),
        (
            "registry.k8s.io/coredns:1.7.0",
            {"dns": {"imageTag": "v1.8.0"}},
            "registry.k8s.io/coredns/coredns:v1.8.0",
        ),
    ],
)
def test_the_dns_image_is_named_by_the_configuration(
    current: str, configuration: Any, expected: str
) -> None:
    kcp = control_plane({"kubeadmConfigSpec": {"clusterConfiguration": configuration}})
    assert str(dns_image(current, kcp)) == expected


@pytest.mark.parametrize("current", ["registry.k8s.io/coredns", "not an image:"])
def test_an_image_without_a_tag_has_no_version(current: str) -> None:
    with pytest.raises(KapyError) as refused:
        dns_image(current, control_plane())
    assert isinstance(refused.value, BadCoreDns | BadImage)
