"""The state of a cluster at a glance: its objects as a tree, with conditions and counters.

    tree = await discover(ClientSource(client), Key("default", "capybara"), Options())
    print(table(tree, now=clock()))

The output equals that of `clusterctl describe cluster` to the character (upstream
`cmd/clusterctl/client/tree` and `internal/util/tree`). In addition, `waits` lists for each object
why it is not ready.
"""

from kapy.clusterctl.describe.discovery import EVERYTHING, Options, discover
from kapy.clusterctl.describe.shape import as_document
from kapy.clusterctl.describe.source import ClientSource, ListingSource, Source
from kapy.clusterctl.describe.table import table
from kapy.clusterctl.describe.tree import Node
from kapy.clusterctl.describe.waiting import Wait, waits, waits_table

__all__ = [
    "EVERYTHING",
    "ClientSource",
    "ListingSource",
    "Node",
    "Options",
    "Source",
    "Wait",
    "as_document",
    "discover",
    "table",
    "waits",
    "waits_table",
]
