"""Harnesses of formats: JSON, YAML, protobuf, templates, CEL, patterns, PEM, SPDY, gRPC."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from functools import lru_cache
from typing import Any

from kapy._aio.spdy import NotSpdy, Session
from kapy.apiserver.encoding import protobuf
from kapy.apiserver.encoding.go_json import syntax_error
from kapy.apiserver.request import body
from kapy.apiserver.resources.jsonpath import find_values
from kapy.client.json_stream import JsonStream
from kapy.client.lines import Lines
from kapy.kube import pki, wire_format, yaml
from kapy.kube.cel import CompileError, EvaluationError, compile_expression
from kapy.kube.cel.schema_types import declared_type
from kapy.kube.cel.types import DYN, INT, STRING
from kapy.kube.errors import KapyError
from kapy.kube.gotemplate import parse as template
from kapy.kube.pki import new_ca, new_key
from kapy.kube.regexp.cost import TooCostly
from kapy.kube.schema.formats import Pattern
from kapy.remote.etcd_messages import CALLS
from kapy.remote.grpc import GrpcClient, serve_grpc
from tests.fuzz.harness import Harness
from tests.fuzz.of_values import text_of


def _json(data: bytes) -> bytes:
    duplicates: list[str] = []
    try:
        value = body.decode_json(data, duplicates)
    except body.InvalidJson:
        assert syntax_error(data)
        raise
    again = json.dumps(value).encode()
    assert body.decode_json(again) == value
    return again


def _yaml(data: bytes) -> str:
    value = body.decode_yaml(data, [])
    printed = yaml.dump(value)
    assert yaml.load(printed) == value, printed[:200]
    return printed


def _yaml_documents(data: bytes) -> str:
    values = yaml.load_all(data.decode("utf-8", "surrogateescape"), "input")
    return yaml.dump_all(values)


def _protobuf(data: bytes) -> bytes:
    document = protobuf.decode_protobuf(b"k8s\0" + data)
    return json.dumps(document, allow_nan=False).encode()


def _varint(value: int) -> bytes:
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*result, value))


def _field(number: int, content: bytes | int) -> bytes:
    if isinstance(content, int):
        return _varint(number << 3) + _varint(content)
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _envelope(version: bytes, kind: bytes, content: bytes) -> bytes:
    return _field(1, _field(1, version) + _field(2, kind)) + _field(2, content)


_META = _field(1, _field(1, b"a") + _field(8, _field(1, 1_700_000_000)) + _field(11, b"\n\x01a"))
_PROTOBUFS = (
    _envelope(b"v1", b"ConfigMap", _META + _field(2, _field(1, b"k") + _field(2, b"v"))),
    _envelope(b"v1", b"Secret", _META + _field(2, _field(1, b"k") + _field(2, b"v"))),
    _envelope(b"v1", b"Node", _META + _field(3, _field(1, _field(1, b"cpu")))),
    _envelope(b"v1", b"Service", _META + _field(2, _field(1, _field(4, _field(1, 1))))),
    _envelope(b"coordination.k8s.io/v1", b"Lease", _META + _field(2, _field(4, _field(1, 5)))),
    _envelope(b"meta.k8s.io/v1", b"DeleteOptions", _field(1, 5)),
    _envelope(
        b"apiextensions.k8s.io/v1",
        b"CustomResourceDefinition",
        _META + _field(2, _field(7, _field(4, _field(1, _field(19, _field(1, b"{}")))))),
    ),
)


def _wire(data: bytes) -> None:
    for call in CALLS:
        try:
            document = wire_format.decode_message(call.response, data)
        except (ValueError, IndexError):
            continue
        again = wire_format.encode_message(call.response, document)
        wire_format.decode_message(call.response, again)


def _template(data: bytes) -> str:
    source = text_of(data)
    values = {"a": 1.0, "b": "text", "c": [1.0, "x"], "d": {"e": True}, "n": None}
    return template(source, sprig=True).render(values)


_SCHEMA: Any = {
    "type": "object",
    "properties": {
        "a": {"type": "integer"},
        "s": {"type": "string", "maxLength": 50},
        "l": {"type": "array", "items": {"type": "string"}},
        "m": {"type": "object", "additionalProperties": {"type": "number"}},
        "t": {"type": "string", "format": "date-time"},
        "o": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
_VALUE = {"a": 3, "s": "text", "l": ["b", "a"], "m": {"x": 1.5}, "t": "2026-01-01T00:00:00Z"}


@lru_cache(maxsize=1)
def _variables() -> dict[str, Any]:
    return {"self": declared_type(_SCHEMA, resource=False), "any": DYN, "i": INT, "s": STRING}


def _cel(data: bytes) -> str:
    program = compile_expression(text_of(data), _variables())
    value, remaining = program.run(_VALUE, _VALUE, 5, "text", limit=200_000)
    assert remaining <= 200_000
    return repr(value)[:1000]


def _pattern(data: bytes) -> bool:
    pattern = Pattern(text_of(data))
    result = pattern.matches("aaaaabbbb 2026-01-01 éé")
    assert not (result and pattern.error)
    return result


_DOCUMENT: Any = {
    "spec": {"size": 1, "tags": ["a", {"b": 1}], "x": {"example.dev/zone": "z"}},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "x"}, 5]},
}


def _jsonpath(data: bytes) -> str:
    return repr(list(find_values(_DOCUMENT, text_of(data))))


def _pem(data: bytes) -> None:
    for read in (pki.facts, pki.public_key_hashes, pki.public_key):
        try:
            read(data)
        except pki.InvalidPem:
            continue
    pki.is_matching_pair(pki.KeyPair(data, data))


@lru_cache(maxsize=1)
def _pems() -> tuple[bytes, ...]:
    from datetime import UTC, datetime

    pair = new_ca("kapy", now=datetime(2026, 1, 1, tzinfo=UTC), algorithm="ECDSA-P256")
    return pair.certificate, pair.key, pair.certificate + pair.key, new_key("ECDSA-P256")


def _spdy(data: bytes) -> None:
    for client in (True, False):
        session = Session(client=client)
        number = session.open({"streamtype": "data", "port": "2379"})
        session.send(number, b"hello")
        at = max(1, len(data) // 3)
        for piece in (data[:at], data[at:]):
            for _ in session.receive(piece):
                pass
        assert len(session.pending()) < 1 << 20


def _spdy_seed() -> bytes:
    session = Session(client=True)
    number = session.open({"streamtype": "data", "port": "2379", "requestid": "0"})
    session.send(number, b"hello", end=True)
    session.reset(session.open({"streamtype": "error"}))
    return session.pending()


class _Stream:
    """A peer that sent everything before it was asked."""

    def __init__(self, data: bytes) -> None:
        at = max(1, len(data) // 2)
        self._pieces = [piece for piece in (data[:at], data[at:]) if piece]
        self.written = bytearray()

    async def read(self) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""

    def write(self, data: bytes) -> None:
        self.written += data

    def close(self) -> None:
        pass


@lru_cache(maxsize=1)
def loop() -> asyncio.AbstractEventLoop:
    """One loop for everything that has to run in one."""
    return asyncio.new_event_loop()


def _grpc_client(data: bytes) -> None:
    stream = _Stream(data)
    loop().run_until_complete(GrpcClient(stream, "etcd").call("/a/B", b"x"))


async def _echo(call: Any) -> bytes:
    return bytes(call.message)


def _grpc_server(data: bytes) -> None:
    loop().run_until_complete(serve_grpc(_Stream(data), _echo))


def _grpc_seeds() -> tuple[bytes, bytes]:
    client, server = _Stream(b""), _Stream(b"")
    with suppress(OSError):
        loop().run_until_complete(GrpcClient(client, "etcd").call("/a/B", b"x"))
    server = _Stream(bytes(client.written))
    loop().run_until_complete(serve_grpc(server, _echo))
    return bytes(server.written), bytes(client.written)


_FROM_SERVER, _FROM_CLIENT = _grpc_seeds()


def _events(data: bytes) -> None:
    lines = Lines(1 << 20)
    for at in range(0, len(data), 7):
        lines.feed(data[at : at + 7])
    while (line := lines.next()) is not None:
        assert b"\n" not in line
    lines.drain()
    events = JsonStream(b"", 1 << 20)
    for at in range(0, len(data), 16):
        events.feed(data[at : at + 16])
        while events.next() is not None:
            pass


HARNESSES = (
    Harness(
        "json",
        _json,
        (body.InvalidJson,),
        (
            *(b'{"a":[1,-2.5e3,true,null,"\\u00e9"]}', b'{"a":1,"a":2}', b"[" * 2000, b"NaN"),
            *(b'"\\ud83d"', b"9" * 5000, b"1e999", b'{"a":{"b":[{"c":1,"c":2}]}}', b'"\xff"'),
        ),
        (b'"', b"\\u", b"[", b"{", b"e", b"true", b"\\ud83d"),
    ),
    Harness(
        "yaml",
        _yaml,
        (body.InvalidJson,),
        (
            *(
                b"a: [1, 2]\nb:\n- c: &x d\n- *x\n",
                b"a: !!binary YQ==\n",
                b"? a\n: b\n",
                b"a: 0o17",
            ),
            *(
                b"a: |\n  b\n  c\n",
                b"<<: {a: b}\nc: .5\n",
                b"- 1_000\n- 1:30\n- yes\n- 2026-01-01\n",
            ),
            *(
                b"a: 'b''c'\nd: \"\\x41\"\n",
                b"!!set {a, b}",
                b"!!omap [a: b]",
                b"%YAML 1.1\n---\na",
            ),
        ),
        (b"&a ", b"*a", b"<<: ", b"!!", b"---\n", b"...\n", b": ", b"- ", b"|-\n", b"? "),
    ),
    Harness(
        "yaml-documents",
        _yaml_documents,
        (yaml.YamlError,),
        (b"a: b\n---\nc: d\n...\n---\n", b"--- |\n a\n--- >\n b", b"a: \xff", b"---\n---\n"),
        (b"---\n", b"...\n", b"&a ", b"*a", b"!!map "),
    ),
    Harness("protobuf", _protobuf, (protobuf.NotProtobuf,), _PROTOBUFS),
    Harness(
        "wire-format",
        _wire,
        (),
        (_field(1, _field(1, 5)) + _field(2, _field(1, 7) + _field(2, b"a") + _field(3, b"u")),),
    ),
    Harness(
        "template",
        _template,
        (KapyError,),
        (
            *(b"{{ .a }}{{ range .c }}{{ . }}{{ end }}", b"{{ if .d.e }}x{{ else }}y{{ end }}"),
            *(
                b'{{ .b | upper | quote }}{{ printf "%05d" 3 }}',
                b'{{ define "x" }}{{ . }}{{ end }}',
            ),
            *(
                b'{{ template "x" . }}',
                b"{{ with $x := .d }}{{ $x.e }}{{ end }}",
                b"{{ index .c 0 }}",
            ),
            *(b'{{ dict "a" 1 | toJson }}{{ list 1 2 | join "," }}', b"{{ add 1 .a }}{{ len .b }}"),
            *(b'{{ semver "1.2.3" }}', b'{{ regexMatch "a+" .b }}', b'{{ date "2006" now }}'),
            *(b"{{ .b | b64enc | b64dec | trunc 2 | nindent 4 }}", b"{{ until 5 }}{{ seq 1 3 }}"),
        ),
        (b"{{", b"}}", b" | ", b".a", b"$x", b"range ", b"end", b'"', b"printf ", b"(", b"-}}"),
    ),
    Harness(
        "cel",
        _cel,
        (CompileError, EvaluationError),
        (
            *(b"self.a > 3 && self.s.startsWith('x')", b"self.l.all(x, x.size() < 5)", b"[1,2][0]"),
            *(b"{'a': 1}['a'] == 1", b"duration('1h') < duration('2h')", b"self.m.map(k, k)"),
            *(
                b"self.t.getFullYear()",
                b"any.x.y == null",
                b"i / 0 == 1",
                b"has(self.o)",
                b"1u + 2u",
            ),
            *(b"s.matches('^a+$')", b"s.find('[a-z]').size()", b"quantity('1Mi').asInteger()"),
            *(
                b"b'\\xff'.size() == 1",
                b"-9223372036854775808",
                b"cidr('10.0.0.0/8').ip()",
                b"0x7f",
            ),
            *(b"optional.of(1).orValue(2)", b"sets.contains([1],[1])", b"'a'.replace('','b')"),
            *(
                b"timestamp('2026-01-01T00:00:00Z')",
                b"int('5') + double('1e5')",
                b"url('https://a')",
            ),
            *(b"semver('1.2.3').major()", b"self.l.sort()", b"format.dns1123Label().value()"),
            *(b"'%s %d %.2f'.format(['a', 1, 1.5])", b"cel.bind(x, 1, x + x)", b"lists.range(3)"),
        ),
        (b"self.", b".map(", b".all(", b" in ", b"==", b"&&", b"?", b"'", b"has(", b"any", b"1u"),
    ),
    Harness(
        "pattern",
        _pattern,
        (TooCostly,),
        (
            b"^[a-z]+$",
            b"(a|b)*c{1,3}",
            rb"\d\w\pL",
            b"(?i)x",
            b"[[:alpha:]]",
            b"(?P<a>b)",
            b"a{1000}",
        ),
    ),
    Harness(
        "jsonpath",
        _jsonpath,
        (),
        (
            *(b".spec.size", b".spec.tags[*]", b'.status.conditions[?(@.type=="Ready")].status'),
            *(b"{.spec.tags[-1].b}", b".spec.x.example\\.dev/zone", b".spec.x['example.dev/zone']"),
        ),
        (b"[?(@.", b"==", b"[*]", b".*", b"[0]", b"\\."),
    ),
    Harness("pem", _pem, (pki.InvalidPem,), _pems()),
    Harness("spdy", _spdy, (NotSpdy,), (_spdy_seed(),)),
    Harness("grpc-client", _grpc_client, (KapyError, OSError), (_FROM_SERVER,)),
    Harness("grpc-server", _grpc_server, (KapyError, OSError), (_FROM_CLIENT,)),
    Harness(
        "watch-events",
        _events,
        (ValueError,),
        (b'{"type":"ADDED","object":{}}\n{"type":"BOOKMARK"}\n', b'{\n "a": "\xc3\xa9"}{"b":1}'),
        (b"\n", b'{"type":', b"}{"),
    ),
)
