"""Variables in text: the language of `drone/envsubst`, which Go's clusterctl substitutes with.

    ${A}                                      the value
    ${A:=b} ${A:-b} ${A=b}                    the value, or b where it is unset or empty
    ${#A}                                     its length in bytes
    ${A:2} ${A:2:3} ${A:-3}                   a part of it, counted in bytes
    ${A^} ${A^^} ${A,} ${A,,}                 first letter or all in upper or lower case
    ${A#p} ${A##p} ${A%p} ${A%%p}             without what glob p matches at beginning or end
    ${A/x/y} ${A//x/y} ${A/#x/y} ${A/%x/y}    the first, every, a leading, a trailing x replaced
    $$                                        a dollar

Where bash and envsubst differ, this is envsubst: `${A:?b}` and `${A:+b}` mean the same as `:-`, a
default may hold other variables, and `${A-b}` is an error. Where a length cuts a character in
the middle, surrogate escapes stand for its bytes (`errors="surrogateescape"` writes them).
"""

from __future__ import annotations

from typing import Protocol

from kapy.clusterctl.envsubst.parser import BadSubstitution, Function, Node, parse

__all__ = ["BadSubstitution", "Function", "Node", "Values", "defaults", "parse", "substitute"]


class Values(Protocol):
    """Looks up a value by name, like `dict.get`; None if there is none."""

    def get(self, name: str, /) -> str | None: ...


def substitute(nodes: list[Node], values: Values) -> str:
    """Return the text with every function replaced; a variable without a value is empty.

    Raises BadSubstitution for a length below zero.
    """
    joined = "".join(_text(node, values) for node in nodes)
    # Bytes of one character may come from two parts, so decode only the joined text.
    return joined.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


_DEFAULTING = ("", "=", "-", "?", "+")


def _text(node: Node, values: Values) -> str:
    if isinstance(node, str):
        return node
    arguments = [_text(argument, values) for argument in node.arguments]
    value = values.get(node.parameter) or ""
    if node.operator[-1:] in _DEFAULTING:
        return value or "".join(arguments)
    from kapy.clusterctl.envsubst.functions import (
        apply_operator,
    )  # few files have any other operator

    return apply_operator(node.operator, value, arguments)


def defaults(nodes: list[Node]) -> dict[str, str]:
    """Return the default of each variable at its first use; empty if it must be set.

    As in upstream, the arguments of any function count as a default. Variables that only occur
    inside another default are not included.
    """
    result: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, Function):
            result.setdefault(node.parameter, "".join(map(_source_text, node.arguments)))
    return result


def _source_text(node: Node) -> str:
    return node if isinstance(node, str) else f"${{{node.parameter}}}"
