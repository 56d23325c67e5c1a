"""Metrics and limits of the requests to one server.

Requests update plain numbers (`counts`, `hooks`). A scrape of `/metrics` converts them to metric
families with kube-apiserver's names (`families`). `inflight` limits concurrent requests.
"""
