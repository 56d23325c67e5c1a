"""Metrics of the requests to one server.

Requests update plain numbers (`counters`, `webhook_counters`). A scrape of `/metrics` converts them
to metric families with kube-apiserver's names (`families`).
"""
