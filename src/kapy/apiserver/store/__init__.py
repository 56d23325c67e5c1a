"""What is stored, what happened to it, and who is told.

`Store` is the truth as everybody sees it: documents by table, one revision counter, a bounded
history, and the watchers. `SqliteLog` (kapy.apiserver.store.sqlite) makes it durable; without one
the store lives in memory only.
"""
