"""Metrics of the requests to one server.

Requests update plain numbers (`counters`). A scrape of `/metrics` converts them
to metric families with kube-apiserver's names (`families`).
"""
