"""The subset of Go's templates."""

from __future__ import annotations

import pytest

from kapy.providers.kubeadm.template import LARGEST, BadTemplate, rendered

DATA = {"controlPlane": {"version": "v1.34.0"}, "on": True, "off": False, "empty": ""}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("plain", "plain"),
        ("{{ .controlPlane.version }}", "v1.34.0"),
        ("{{.missing}}", "<no value>"),
        ("{{ .controlPlane }}", "map[version:v1.34.0]"),
        ('{{ "a" }}{{ `b` }}{{ 3 }}{{ true }}', "ab3true"),
        ("{{/* nothing */}}x", "x"),
        ("a {{- .on -}} b", "atrueb"),
        ("{{ if .on }}yes{{ else }}no{{ end }}", "yes"),
        ("{{ if .empty }}yes{{ else }}no{{ end }}", "no"),
        ("{{ if .off }}{{ if .on }}a{{ else }}b{{ end }}{{ else }}c{{ end }}", "c"),
        ("{{ if .on }}{{ if .off }}a{{ else }}b{{ end }}{{ end }}!", "b!"),
    ],
)
def test_a_template_is_filled(template: str, text: str) -> None:
    assert rendered(template, DATA) == text


@pytest.mark.parametrize(
    "template",
    [
        "{{ range .list }}{{ end }}",
        "{{ .a | upper }}",
        "{{ if .on }}never ended",
        "{{ end }}",
        "line\n{{ .unclosed",
        "{{ else }}",
    ],
)
def test_anything_else_is_refused(template: str) -> None:
    with pytest.raises(BadTemplate):
        rendered(template, DATA)


def test_the_output_is_bounded() -> None:
    with pytest.raises(BadTemplate, match="exceeds"):
        rendered("{{ .big }}!", {"big": "x" * LARGEST})
