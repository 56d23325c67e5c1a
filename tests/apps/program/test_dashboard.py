"""The dashboard and the alert rules query metrics that programs export."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import promql_parser
import pytest
from prometheus_client import Metric

from kapy._aio.clock import loop_clock
from kapy.api.features import FeatureGates
from kapy.apps.admission import AdmissionRules
from kapy.apps.cluster_metrics import ClusterMetrics
from kapy.apps.manager.webhooks import Webhooks
from kapy.apps.manifests import apply_manifests, class_sample
from kapy.client.client import Client
from kapy.engine.leadership import LeaderElectionConfig, LeaderElector
from kapy.engine.shards import Shards
from kapy.hooks.call import CallMetrics
from kapy.hooks.catalog import own_catalog
from kapy.kube import Document, Key, yaml
from kapy.testing import on_virtual_time
from tests.apps.program.promql import labels_of
from tests.engine.fake_server import FakeServer
from tests.stories.plane import running

DASHBOARD = Path(__file__).resolve().parents[3] / "docs" / "dashboards" / "kapy.json"
ALERTS = DASHBOARD.with_name("alerts.yaml")
SUFFIXES = {"counter": "_total", "histogram": "_bucket", "gauge": ""}


@dataclass(frozen=True, slots=True)
class Query:
    """An expression, and the labels that a title beside it names. place: in the files."""

    place: str
    expression: str
    titled: frozenset[str] = frozenset()

    def check(self, families: Mapping[str, set[str]]) -> None:
        """Assert that Prometheus can answer it, with the labels of the title."""
        parsed = promql_parser.parse(self.expression.replace("$__rate_interval", "5m"))
        labels = labels_of(parsed, families)
        assert labels is not None, f"{self.place}: no metric"
        assert self.titled <= labels, f"{self.place}: no label {self.titled - labels}"


def panels() -> Iterator[Query]:
    """The queries of the dashboard's panels."""
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel.get("targets", ()):
            titled = frozenset(re.findall(r"\{\{\s*(\w+)\s*\}\}", target.get("legendFormat", "")))
            yield Query(panel["title"], target["expr"], titled)


def variables() -> Iterator[Query]:
    """The queries of the dashboard's variables: the values of a label of a metric."""
    for variable in json.loads(DASHBOARD.read_text())["templating"]["list"]:
        if variable["type"] == "query":
            match = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"])
            assert match is not None
            yield Query(variable["name"], match[1], frozenset([match[2]]))


def alerts() -> Iterator[Query]:
    """The expressions of the alert rules, with the labels that their annotations name."""
    (group,) = yaml.load(ALERTS.read_text())["groups"]
    for rule in group["rules"]:
        assert rule["annotations"]["summary"]
        titled = re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values()))
        yield Query(rule["alert"], rule["expr"], frozenset(titled))


async def families() -> dict[str, set[str]]:
    """Every metric that managers and planes export, with its labels."""
    calls = CallMetrics()
    calls.count_call("host", next(iter(own_catalog())), "200", "Success", 0.1)
    reviews = Webhooks(AdmissionRules(FeatureGates()), lambda _: None).metrics
    with reviews.measure("/convert"):
        reviews.count_response("/convert", 200)
    terms = LeaderElectionConfig(lease=Key("default", "lease"), identity="me")
    shards = Shards(Client(FakeServer()), terms, 2, loop_clock(), Random(1))
    async with running() as plane:
        await apply_manifests(plane.client, class_sample())
        await asyncio.sleep(120)
        elector = LeaderElector(Client(FakeServer()), terms, loop_clock(), Random(1))
        registry = plane.runtime.metrics.registry
        clusters = ClusterMetrics(plane.runtime)
        collectors: list[Any] = [registry, calls, reviews, shards, elector, clusters]
        return {
            family.name + SUFFIXES[family.type]: _labels(family)
            for collector in collectors
            for family in collector.collect()
        }


def _labels(family: Metric) -> set[str]:
    """The labels of a metric: those of its samples, and those that it declares without any."""
    labels = {label for sample in family.samples for label in sample.labels}
    return labels.union(getattr(family, "_labelnames", ()))


@on_virtual_time
async def test_every_query_can_be_answered() -> None:
    family_labels = await families()
    queries = [*panels(), *variables(), *alerts()]
    assert len(queries) > 30
    for query in queries:
        query.check(family_labels)


@pytest.mark.parametrize(
    ("expression", "titled"),
    [
        ("sum by (controller) (controller_runtime_reconcile_totals)", ""),
        ("controller_runtime_reconcile_total", ""),
        ("rate(workqueue_depth[5m])", ""),
        ("sum by (cluster) (workqueue_depth)", ""),
        ('workqueue_depth{cluster="a"}', ""),
        ("sum by (controller) (workqueue_depth)", "priority"),
        ("sum by (controller) (workqueue_depth) / sum(workqueue_depth)", ""),
        ("histogram_quantile(0.9, sum by (name) (rate(waits_bucket[5m])))", ""),
        ("sum by (controller) (workqueue_depth", ""),
    ],
)
def test_a_query_without_an_answer_is_noticed(expression: str, titled: str) -> None:
    family_labels = {"workqueue_depth": {"controller", "priority"}, "waits_bucket": {"le", "name"}}
    with pytest.raises((AssertionError, ValueError)):
        Query("", expression, frozenset(titled.split())).check(family_labels)


def test_panels_do_not_overlap() -> None:
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
