"""Names of objects that are made of a ClusterClass."""

from __future__ import annotations

from kapy.kube import Document
from kapy.topology.names import next_name, prefixed_name
from tests.topology.managed import cluster


def template(size: int) -> Document:
    return {"kind": "ThingTemplate", "spec": {"template": {"spec": {"size": size, "zone": "z"}}}}


def test_a_template_that_is_replaced_gets_a_name_that_a_retry_computes_again() -> None:
    of = cluster()
    first = prefixed_name("c-md-", of, "ThingTemplate", "md")
    second = next_name("c-md-", of, first, template(2))
    turned: Document = {"spec": {"template": {"spec": {"zone": "z", "size": 2}}}}
    assert second == next_name("c-md-", of, first, {"kind": "ThingTemplate", **turned})
    assert next_name("c-md-", of, first, template(3)) not in (first, second)
    back = next_name("c-md-", of, second, template(1))
    again = next_name("c-md-", of, back, template(2))
    assert len({first, second, back, again}) == 4, "what comes back is a template of its own"
    assert all(
        text.startswith("c-md-") and len(text) == 10 for text in (first, second, back, again)
    )


def test_a_template_name_belongs_to_one_cluster() -> None:
    mine, other = cluster(), cluster({"metadata": {"uid": "another"}})
    assert prefixed_name("c-", mine, "T") == prefixed_name("c-", cluster(), "T")
    assert prefixed_name("c-", mine, "T") != prefixed_name("c-", other, "T")
    assert prefixed_name("c-", mine, "T") != prefixed_name("c-", mine, "U")
