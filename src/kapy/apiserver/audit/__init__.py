"""The audit log: who asked for what, when, and what came of it (`audit.k8s.io/v1`).

`policy` says what is written of which request, `events` what a line looks like, `auditor` follows
a request, and `log` writes without ever holding a request up. Nothing of this is imported by a
server that writes no audit log.
"""
