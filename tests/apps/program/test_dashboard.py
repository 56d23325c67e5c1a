"""The dashboard asks for metrics that there are, by labels that they have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from kapy._aio.clock import loop_clock
from kapy.api.features import FeatureGates
from kapy.apps.admission import AdmissionRules
from kapy.apps.cluster_metrics import ClusterMetrics
from kapy.apps.manager.webhooks import Webhooks
from kapy.client.client import Client
from kapy.engine.leadership import LeaderElectionConfig, LeaderElector
from kapy.engine.shards import Shards
from kapy.hooks.call_metrics import CallMetrics
from kapy.hooks.catalog import shipped
from kapy.kube import Document, Key, yaml
from tests.engine.fake_server import FakeServer
from tests.stories.plane import running

DASHBOARD = Path(__file__).resolve().parents[3] / "docs" / "dashboards" / "kapy.json"
ALERTS = DASHBOARD.with_name("alerts.yaml")
SCRAPED = {"job", "instance", "le"}
"""Labels that Prometheus adds, or that belong to a histogram."""
SUFFIXES = {"counter": "_total", "histogram": "_bucket", "gauge": ""}


def expressions() -> Iterator[str]:
    document: Document = json.loads(DASHBOARD.read_text())
    for panel in document["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"]


async def families() -> dict[str, set[str]]:
    """Every metric that a manager can tell, and its labels where it has told any."""
    calls = CallMetrics()
    calls.count_call("host", next(iter(shipped())), "200", "Success", 0.1)
    reviews = Webhooks(AdmissionRules(FeatureGates()), lambda _: None).metrics
    with reviews.measure("/convert"):
        reviews.count_response("/convert", 200)
    terms = LeaderElectionConfig(lease=Key("default", "lease"), identity="me")
    shards = Shards(Client(FakeServer()), terms, 2, loop_clock(), Random(1))
    async with running() as plane:
        elector = LeaderElector(Client(FakeServer()), terms, loop_clock(), Random(1))
        registry = plane.runtime.metrics.registry
        clusters = ClusterMetrics(plane.runtime)
        collectors: list[Any] = [registry, calls, reviews, shards, elector, clusters]
        return {
            family.name + SUFFIXES[family.type]: {
                label for sample in family.samples for label in sample.labels
            }
            for collector in collectors
            for family in collector.collect()
        }


def asked(expression: str) -> Iterator[tuple[str, set[str]]]:
    """The metrics of an expression, with the labels that are asked for."""
    by = {part for match in re.findall(r"by \(([^)]*)\)", expression) for part in match.split(", ")}
    for name, selected in re.findall(r"(\w+)\{([^}]*)\}", expression):
        yield name, by | set(re.findall(r"(\w+)[=!]", selected))


def alerts() -> Iterator[str]:
    (group,) = yaml.load(ALERTS.read_text())["groups"]
    for rule in group["rules"]:
        assert rule["annotations"]["summary"]
        yield rule["expr"]


async def test_every_expression_can_be_answered() -> None:
    known = await families()
    rules = [entry for expression in alerts() for entry in asked(expression)]
    wanted = [entry for expression in expressions() for entry in asked(expression)] + rules
    assert len(wanted) > 25
    assert len(rules) == 10
    for name, labels in wanted:
        assert name in known, name
        assert not known[name] or labels - SCRAPED <= known[name], name


def test_panels_lie_beside_each_other() -> None:
    document: Document = json.loads(DASHBOARD.read_text())
    places = [panel["gridPos"] for panel in document["panels"]]
    cells = [
        (x, y)
        for place in places
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in document["panels"]}) == len(places)
