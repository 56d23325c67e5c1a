"""The functions of the extension libraries and of Kubernetes."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.kube.cel import EvaluationError
from tests.kube.cel.expressions import value


def holds(expression: str, expected: Any = True) -> Any:
    return pytest.param(expression, expected, id=expression)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        holds("'hello'.contains('ell') && 'hello'.startsWith('he') && 'hello'.endsWith('lo')"),
        holds("'héllo'.charAt(1)", "é"),
        holds("'hello'.indexOf('l')", 2),
        holds("'hello'.indexOf('l', 3)", 3),
        holds("'hello'.lastIndexOf('l')", 3),
        holds("'hello'.lastIndexOf('l', 2)", 2),
        holds("'ÄbC'.lowerAscii()", "Äbc"),
        holds("'äbC'.upperAscii()", "äBC"),
        holds("'a-b-c'.replace('-', '')", "abc"),
        holds("'a-b-c'.replace('-', '+', 1)", "a+b-c"),
        holds("'a,b,c'.split(',')", ["a", "b", "c"]),
        holds("'a,b,c'.split(',', 2)", ["a", "b,c"]),
        holds("'abc'.split('')", ["a", "b", "c"]),
        holds("'tacocat'.substring(4)", "cat"),
        holds("'tacocat'.substring(0, 4)", "taco"),
        holds("'\\t a \\n'.trim()", "a"),
        holds("['a', 'b'].join('-') + ['c'].join()", "a-bc"),
        holds("strings.quote('a\"\\n\\x07')", '"a\\"\\n\\a"'),
        holds(
            "'%s %d %.2f %x %X %b %o %%'.format(['a', 5, 1.5, 255, 'hi', 5, 8])",
            "a 5 1.50 ff 6869 101 10 %",
        ),
        holds("'%s'.format([[1, 2]]) + '%s'.format([{'k': true}])", "[1, 2]{k: true}"),
        holds("'%e'.format([1234.5])", "1.234500e+03"),
    ],
)
def test_string_functions_return_values(expression: str, expected: Any) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        holds("[1, 2, 2].isSorted() && !['b', 'a'].isSorted() && [].isSorted()"),
        holds("[1, 2, 3].sum()", 6),
        holds("[duration('1h'), duration('30m')].sum() == duration('90m')"),
        holds("[1.5, 0.5].min()", 0.5),
        holds("['a', 'c', 'b'].max()", "c"),
        holds("[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2"),
        holds("[1].indexOf(9)", -1),
        holds("sets.contains([1, 2, 3], [3, 1]) && !sets.contains([1], [2])"),
        holds("sets.equivalent([1, 2, 1], [2, 1])"),
        holds("sets.intersects(['a'], ['b', 'a']) && !sets.intersects([], ['a'])"),
        holds("'abc 123'.find('[0-9]+')", "123"),
        holds("'abc'.find('[0-9]+')", ""),
        holds("'1 22 333'.findAll('[0-9]+')", ["1", "22", "333"]),
        holds("'1 22 333'.findAll('[0-9]+', 2)", ["1", "22"]),
        holds("'foobar'.matches('^fo+') && matches('x\\n', 'x\\\\z') == false"),
    ],
)
def test_list_set_and_pattern_functions_return_values(expression: str, expected: Any) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        holds("isURL('https://u:p@example.com:80/a?b=1') && isURL('/path') && !isURL('a.b/c')"),
        holds("url('https://example.com:80/p%20q?k=1&k=2').getHost()", "example.com:80"),
        holds("url('https://[::1]:80/').getHostname()", "::1"),
        holds("url('https://example.com:80/').getPort()", "80"),
        holds("url('https://example.com').getPort()", ""),
        holds("url('https://e.com/a b'.replace(' ', '')).getEscapedPath()", "/ab"),
        holds("url('https://e.com/?k=1&k=2').getQuery()", {"k": ["1", "2"]}),
        holds("url('HTTPS://e.com').getScheme()", "https"),
        holds("isIP('10.0.0.1') && isIP('::1') && !isIP('10.0.0') && !isIP('010.0.0.1')"),
        holds("isIP('::ffff:1.2.3.4') || isIP('fe80::1%eth0')", False),
        holds("ip('::1').family()", 6),
        holds("ip('10.0.0.1') == ip('10.0.0.1')"),
        holds("ip.isCanonical('::1') && !ip.isCanonical('0:0:0:0:0:0:0:1')"),
        holds("ip('127.0.0.1').isLoopback() && ip('0.0.0.0').isUnspecified()"),
        holds("ip('224.0.0.1').isLinkLocalMulticast() && ip('169.254.1.1').isLinkLocalUnicast()"),
        holds("ip('10.1.2.3').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast()"),
        holds("string(ip('0:0::1'))", "::1"),
        holds("isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0') && !isCIDR('10.0.0.0/33')"),
        holds("cidr('10.0.0.0/8').containsIP('10.9.9.9') && !cidr('::/8').containsIP('1.1.1.1')"),
        holds("cidr('10.0.0.0/8').containsIP(ip('10.9.9.9'))"),
        holds("cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')"),
        holds("cidr('10.0.0.0/16').containsCIDR(cidr('10.0.0.0/8'))", False),
        holds("string(cidr('10.1.2.3/8').masked())", "10.0.0.0/8"),
        holds("cidr('10.1.2.3/8').ip() == ip('10.1.2.3')"),
        holds("cidr('10.0.0.0/8').prefixLength()", 8),
    ],
)
def test_url_and_network_functions_return_values(expression: str, expected: Any) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        holds("isQuantity('1.5Gi') && !isQuantity('1.5 Gi') && !isQuantity('Gi')"),
        holds("quantity('1Gi').compareTo(quantity('1024Mi'))", 0),
        holds("quantity('1k').isGreaterThan(quantity('999'))"),
        holds("quantity('1').isLessThan(quantity('2'))"),
        holds("quantity('50k').isInteger() && !quantity('50m').isInteger()"),
        holds("quantity('50k').asInteger()", 50000),
        holds("quantity('50m').asApproximateFloat()", 0.05),
        holds("quantity('-1').sign()", -1),
        holds("quantity('1').add(quantity('2')).sub(1) == quantity('2')"),
        holds("isSemver('1.2.3-rc.1+b') && !isSemver('v1.2') && isSemver('v1.2', true)"),
        holds("semver('1.2.3').isLessThan(semver('1.10.0'))"),
        holds("semver('1.0.0').compareTo(semver('1.0.0-rc.1'))", 1),
        holds("semver('v1.34', true).minor() + semver('1.2.3').patch()", 37),
        holds("format.dns1123Label().validate('good').hasValue()", False),
        holds("format.dns1035Label().validate('1bad').value().size()", 1),
        holds(
            "format.named('uuid').value().validate('x').value()[0]",
            "does not match the UUID format",
        ),
        holds("format.named('nothing').hasValue()", False),
        holds("format.dns1123LabelPrefix().validate('a-').hasValue()", False),
    ],
)
def test_quantity_version_and_format_functions_return_values(
    expression: str, expected: Any
) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        holds("int('42') + int(2.9) + int(3u)", 47),
        holds("double('1.5') + double(1)", 2.5),
        holds("uint(5)", 5),
        holds("bool('true') && !bool('f')"),
        holds("string(1) + string(1.0) + string(1.5) + string(true) + string(b'x')", "111.5truex"),
        holds(
            "string(1e21) + ' ' + string(1e-7) + ' ' + string(123456789012.0)",
            "1e+21 1e-07 123456789012",
        ),
        holds("string(timestamp('2024-02-29T12:30:15.5+02:00'))", "2024-02-29T10:30:15.5Z"),
        holds("string(duration('1h1ms'))", "3600.001s"),
        holds("int(timestamp('1970-01-01T00:01:00Z'))", 60),
        holds("timestamp(60) == timestamp('1970-01-01T00:01:00Z')"),
        holds("self.since.getFullYear()", 2024),
        holds("self.since.getMonth() + self.since.getDayOfMonth() + self.since.getDate()", 58),
        holds("self.since.getDayOfWeek()", 4),
        holds("self.since.getDayOfYear()", 59),
        holds("self.since.getHours('Europe/Berlin')", 11),
        holds("self.since.getHours('-02:30')", 8),
        holds("self.since.getMilliseconds()", 500),
        holds("self.period.getMinutes() + self.period.getHours()", 91),
        holds(
            "timestamp('2024-01-01T00:00:00Z') + duration('24h') - duration('1h') "
            "> timestamp('2024-01-01T12:00:00Z')"
        ),
    ],
)
def test_conversions_and_times_return_values(expression: str, expected: Any) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "int('x')",
        "int(1e30)",
        "uint(-1)",
        "double('x')",
        "bool('yes')",
        "string(b'\\xff')",
        "timestamp(self.name)",
        "duration(self.name)",
        "url(self.name)",
        "ip(self.name)",
        "cidr(self.name)",
        "quantity(self.name)",
        "quantity('50m').asInteger()",
        "semver(self.name)",
        "'abc'.charAt(9)",
        "'abc'.substring(2, 1)",
        "'abc'.substring(9)",
        "'abc'.find('(' + self.name)",
        "'%d'.format([dyn('x')])",
        "('%' + 's').format([])",
        "[1].filter(x, x > 1).min()",
        "self.since.getHours('Nowhere/Town')",
    ],
)
def test_impossible_conversions_are_errors(expression: str) -> None:
    with pytest.raises(EvaluationError):
        value(expression)
