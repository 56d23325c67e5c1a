"""The audit log (`audit.k8s.io/v1`).

`policy` selects the level of each request, `events` builds the lines, `auditor` follows a request,
and `log` writes without delaying requests. A server without an audit log imports none of these.
"""
