"""The state of a cluster at a glance: its objects as a tree, with conditions and counters.

    tree = await discover(ClientSource(client), Key("default", "capybara"), Options())
    print(table(tree, now=clock()))

What `clusterctl describe cluster` shows (upstream `cmd/clusterctl/client/tree` and
`internal/util/tree`), to the character.
"""

from kapy.clusterctl.describe.discovery import Options, discover
from kapy.clusterctl.describe.shape import as_document
from kapy.clusterctl.describe.source import ClientSource, Source
from kapy.clusterctl.describe.table import table
from kapy.clusterctl.describe.tree import Node

__all__ = ["ClientSource", "Node", "Options", "Source", "as_document", "discover", "table"]
