"""Go templates."""

from __future__ import annotations

import pytest

from kapy.kube import sprig_volatile
from kapy.kube.gotemplate import BadTemplate, CannotRender, NotDeterministic, parse
from kapy.kube.sprig import functions_in
from kapy.kube.template_work import FULL, MAX_VALUE, QUICK, Work

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
def test_a_template_renders_as_in_go(template: str, text: str) -> None:
    assert parse(template).render(DATA) == text


def test_functions_of_sprig_are_there_when_asked_for() -> None:
    assert parse('{{ .name | upper | default "x" }}', sprig=True).render(DATA) == "C"
    with pytest.raises(BadTemplate, match="upper"):
        parse("{{ .name | upper }}")
    with pytest.raises(BadTemplate, match="env"):
        parse('{{ env "HOME" }}', sprig=True)


@pytest.mark.parametrize("template", ["\n{{ .name", "\n{{ if }}", "\n{{ end }}", "\n{{ foo }}"])
def test_a_text_that_is_no_template_is_refused_with_its_line(template: str) -> None:
    with pytest.raises(BadTemplate, match=r"^template: names:2: "):
        parse(template, name="names")


def test_a_strict_template_refuses_missing_variables() -> None:
    with pytest.raises(CannotRender, match="nobody"):
        parse("{{ .nobody }}", strict=True).render(DATA)


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
        parse(template, sprig=True).render(DATA)


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
def test_functions_of_sprig_return_the_same_as_in_go(template: str, text: str) -> None:
    assert parse(template, sprig=True).render(DATA) == text


def test_a_template_that_changes_its_data_changes_a_copy() -> None:
    data = {"sizes": {"small": 1.0}}
    template = parse('{{ set .sizes "large" 9 }}{{ len .sizes }}', sprig=True)
    assert template.render(data) == "map[large:9 small:1]2"
    assert data == {"sizes": {"small": 1.0}}


ENDLESS = (
    "{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}",
    '{{ define "a" }}{{ if lt (len .) 90 }}{{ template "a" print . "x" }}'
    '{{ template "a" print . "x" }}{{ end }}{{ end }}{{ template "a" "" }}',
    '{{ printf "%1000000000d" 1 }}',
    '{{ printf "%.*f" 1000000000 1.5 }}',
    '{{ printf (repeat 1000 "%[1]s") (repeat 100000 "a") }}',
    '{{ repeat 100000 (repeat 1000 "a") }}',
    '{{ indent 100000 (repeat 1000 "\\n") }}',
    '{{ replace "a" (repeat 10000 "b") (repeat 10000 "a") }}',
    '{{ wrapWith 1 (repeat 10000 "b") (repeat 10000 "a") }}',
    '{{ join (repeat 10000 "b") (splitList "" (repeat 10000 "a")) }}',
    '{{ $s := "ab" }}{{ range until 60 }}{{ $s = print $s $s }}{{ end }}',
    '{{ $s := "ab" }}{{ range until 60 }}{{ $s = cat $s $s }}{{ end }}',
    '{{ $s := "ab" }}{{ range until 60 }}{{ $s = b64enc $s }}{{ end }}',
    '{{ $s := "ab" }}{{ range until 60 }}{{ $s = toJson (list $s $s) }}{{ end }}',
    "{{ $l := list 1 }}{{ range until 60 }}{{ $l = list $l $l }}{{ end }}{{ $l }}",
    "{{ $l := list 1 }}{{ range until 60 }}{{ $l = concat $l $l }}{{ end }}",
    '{{ $d := dict }}{{ $_ := set $d "a" $d }}{{ toJson $d }}',
    "{{ uniq (until 100000) }}",
    '{{ semverCompare (repeat 90000 " ") "1.2.3" }}',
    "{{ range until 1000 }}" + '{{ derivePassword 1 "long" "p" "u" "s" }}' + "{{ end }}",
    "{{ range . }}{{ range $ }}{{ range $ }}{{ range $ }}{{ range $ }}{{ end }}{{ end }}"
    "{{ end }}{{ end }}{{ end }}",
)


@pytest.mark.parametrize("template", ENDLESS)
@pytest.mark.parametrize("most", [QUICK, FULL])
def test_no_template_does_more_than_it_may(template: str, most: int) -> None:
    work = Work(most)
    data = {str(number): number for number in range(100)}
    with pytest.raises(CannotRender):
        parse(template, sprig=True).render(data, work=work)
    assert work.spent < 2 * most + MAX_VALUE // 8


@pytest.mark.parametrize(
    "template",
    [
        "{{ .a }}" * 3000,
        "{{ list" + " 1" * 20_000 + " }}",
        "{{ " + "(" * 9000 + "." + ")" * 9000 + "}}",
        "x" * (1 << 21),
    ],
)
def test_a_template_that_takes_long_to_parse_is_refused(template: str) -> None:
    with pytest.raises(BadTemplate, match=r"too long|nesting"):
        parse(template, sprig=True)


@pytest.mark.parametrize(
    "template",
    [
        '{{ genPrivateKey "rsa" | sha256sum }}',
        '{{ genPrivateKey "ecdsa" }}',
        '{{ (genCA "c" 1).Cert }}',
        '{{ $ca := genCA "c" 1 }}{{ (genSignedCert "c" nil nil 1 $ca).Key }}',
        '{{ genCAWithKey "c" 1 (genPrivateKey "ed25519") }}',
        '{{ bcrypt "x" }}',
        '{{ htpasswd "u" "p" }}',
        '{{ encryptAES "k" "text" }}',
        "{{ randInt 0 2 }}",
        '{{ shuffle "aba" }}',
        '{{ ago (toDate "2006-01-02" "2017-12-31") }}',
        '{{ if eq (randInt 0 9) 0 }}{{ "a" }}{{ end }}',
    ],
)
def test_a_template_with_varying_output_is_refused(template: str) -> None:
    for _ in range(2):  # what is remembered makes no difference
        with pytest.raises(NotDeterministic, match="differs each time"):
            parse(template, sprig=True).render(DATA, work=Work(FULL))


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ('{{ $_ := genPrivateKey "rsa" }}a', "a"),
        ('{{ encryptAES "k" "text" | decryptAES "k" }}', "text"),
        ("{{ randInt 3 4 }}", "3"),
        ('{{ htpasswd "a:b" "p" }}', "invalid username: a:b"),
        ('{{ durationRound "2h10m5s" }}', "2h"),
        ('{{ shuffle "aaa" }}', "aaa"),
    ],
)
def test_a_random_value_may_be_used_where_it_makes_no_difference(template: str, text: str) -> None:
    assert parse(template, sprig=True).render(DATA, work=Work(FULL)) == text


def test_every_function_that_is_random_in_sprig_is_replaced() -> None:
    from gotpl.funcs.sprig import registry

    names = set(registry.hermetic_text_func_map())
    random = {name for name in names if name.startswith(("gen", "rand", "crypto"))}
    assert random <= sprig_volatile.names() <= names


@pytest.mark.parametrize("digits", [25, 34, 60, 5000])
@pytest.mark.parametrize("text", ["{{{}{}", "{{{{ {} }}}}", "{{{{ 1.{}x }}}}", "{{{{ 0x{}_ }}}}"])
def test_a_number_of_many_digits_is_refused_before_it_is_searched(text: str, digits: int) -> None:
    zeros = "0" * digits
    source = "{{}" + zeros if text == "{{{}{}" else text.format(zeros)
    with pytest.raises(BadTemplate, match="more than 20 digits"):
        parse(source)


def test_a_text_may_have_many_digits() -> None:
    zeros = "0" * 64
    assert parse(f'{{{{ "{zeros}" }}}}{zeros}').render({}) == zeros * 2


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ toJson .nobody }}", "null"),
        ("{{ list .nobody nil }}", "[<nil> <nil>]"),
        ("{{ keys .nobody }}{{ get .nobody `a` }}{{ hasKey .nobody `a` }}", "[]false"),
        ("{{ merge .nobody (dict `a` 1) }}", "map[a:1]"),
        ("{{ slice (list) }}", "<no value>"),
        ("{{ mulf -1 `a` }}", "0"),
    ],
)
def test_a_missing_variable_is_nil_or_an_empty_map_for_functions(template: str, text: str) -> None:
    assert parse(template, sprig=True).render(DATA, work=Work(FULL)) == text


@pytest.mark.parametrize(
    "template",
    ["{{ keys .null }}", "{{ merge `a` }}", "{{ set .nobody `a` 1 }}", "{{ deepCopy .nobody }}"],
)
def test_map_functions_refuse_other_values(template: str) -> None:
    with pytest.raises(CannotRender):
        parse(template, sprig=True).render({"null": None}, work=Work(FULL))


@pytest.mark.parametrize(
    ("text", "functions"),
    [
        ("{{ .cluster.name }}-{{- $v.upper -}}", set()),
        ('a: "{{ range $k, $v := .keys }}{{ $k }}={{ $v }},{{ end }}now={{ .last }}"', set()),
        ("{{ if and (eq .a .b) (not .c) }}upper{{ else }}lower{{ end }}", set()),
        ("{{ .a | upper }}", {"upper"}),
        ("{{upper .a}}", {"upper"}),
        ('{{ "}}" | upper }}', {"upper"}),
        ("{{ `}}` | upper }}", {"upper"}),
        ("{{/* }} */}}{{ upper .a }}", {"upper"}),
        ("{{ .a {{ upper .b }}", {"upper"}),
        ("{{ slice .a 1 }}", {"slice"}),
    ],
)
def test_functions_of_sprig_are_those_that_a_template_calls(text: str, functions: set[str]) -> None:
    assert set(functions_in(text)) == functions
