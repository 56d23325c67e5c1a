"""Go templates."""

from __future__ import annotations

import pytest

from kapy.kube.gotemplate import BadTemplate, CannotRender, parsed
from kapy.kube.sprig import is_volatile

DATA = {"name": "c", "sizes": [1.0, 2.5], "big": 1e6, "on": True}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ .name }}-{{ .on }}", "c-true"),
        ("{{ range .sizes }}{{ . }};{{ end }}", "1;2.5;"),
        ("{{ .big }}", "1e+06"),
        ("{{ .nobody }}", "<no value>"),
        ("a {{- if .on }} b{{ end }}", "a b"),
    ],
)
def test_a_template_says_what_it_says_in_go(template: str, text: str) -> None:
    assert parsed(template).rendered(DATA) == text


def test_functions_of_sprig_are_there_when_asked_for() -> None:
    assert parsed('{{ .name | upper | default "x" }}', sprig=True).rendered(DATA) == "C"
    with pytest.raises(BadTemplate, match="upper"):
        parsed("{{ .name | upper }}")
    with pytest.raises(BadTemplate, match="env"):
        parsed('{{ env "HOME" }}', sprig=True)


@pytest.mark.parametrize("template", ["\n{{ .name", "\n{{ if }}", "\n{{ end }}", "\n{{ foo }}"])
def test_a_text_that_is_no_template_is_refused_with_its_line(template: str) -> None:
    with pytest.raises(BadTemplate, match=r"^template: names:2: "):
        parsed(template, name="names")


def test_a_strict_template_misses_nothing() -> None:
    with pytest.raises(CannotRender, match="nobody"):
        parsed("{{ .nobody }}", strict=True).rendered(DATA)


@pytest.mark.parametrize(
    "template",
    [
        "{{ .name.upper }}",
        "{{ .name.__class__ }}",
        "{{ range 1000000 }}{{ end }}",
        '{{ repeat 10000000 "a" }}',
        "{{ range untilStep 0 10000000 1 }}{{ end }}",
        '{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}',
        "{{ range 99999 }}a long text that is said again and again{{ end }}",
    ],
)
def test_a_template_reaches_nothing_but_its_data_and_comes_to_an_end(template: str) -> None:
    with pytest.raises(CannotRender):
        parsed(template, sprig=True).rendered(DATA)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ('{{ add "3.7" "-.5" 1 }}', "4"),
        ('{{ list 1 "x" nil }}', "[1 x <nil>]"),
        ('{{ (semver "v1.30.2-rc.1").Minor }} {{ (semver "1.2.3-a").Prerelease }}', "30 a"),
        ('{{ toDate "2006-01-02" "2017-12-31" }}', "2017-12-31 00:00:00 +0000 UTC"),
        (
            '{{ mustToDate "2006-01-02T15:04:05Z07:00" "2024-02-29T12:34:56.5+02:00" }}',
            "2024-02-29 12:34:56.5 +0200 +0200",
        ),
        ('{{ toDate "2006-01-02" "no day" }}', "0001-01-01 00:00:00 +0000 UTC"),
        ('{{ bcrypt "x" | len }}', "60"),
    ],
)
def test_functions_of_sprig_give_what_they_give_in_go(template: str, text: str) -> None:
    assert parsed(template, sprig=True).rendered(DATA) == text


def test_a_template_that_changes_its_data_changes_a_copy() -> None:
    data = {"sizes": {"small": 1.0}}
    template = parsed('{{ set .sizes "large" 9 }}{{ len .sizes }}', sprig=True)
    assert template.rendered(data) == "map[large:9 small:1]2"
    assert data == {"sizes": {"small": 1.0}}


@pytest.mark.parametrize(
    ("template", "volatile"),
    [
        ("{{ .name | upper }} generally", False),
        ("{{ ago .date }}", True),
        ('{{ genCA "c" 1 }}', True),
        ("{{ list 1 2 | shuffle }}", True),
        ('{{ htpasswd "u" "p" }}', True),
    ],
)
def test_it_is_known_which_templates_may_say_something_else_the_next_time(
    template: str, volatile: bool
) -> None:
    assert is_volatile(template) is volatile
