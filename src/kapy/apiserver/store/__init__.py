"""Storage of the API server: objects, write history and watchers.

`Store` holds the committed state: documents by table, one revision counter, a bounded history and
the watchers. `SqliteLog` (kapy.apiserver.store.sqlite) persists it; without one the store lives in
memory only.
"""
