"""The audit log (`audit.k8s.io/v1`).

`policy` selects the level of each request, `auditor` follows a request and builds the lines,
and `log` writes without delaying requests. A server without an audit log imports none of these.
"""
