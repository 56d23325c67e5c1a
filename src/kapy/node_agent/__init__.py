"""A node agent: runs the Pods that are bound to one Node, and reports how they do.

It does for the Pods of providers on a plane what a kubelet does, with runtimes of which each is a
`Runtime`: local processes (`processes`). It is no kubelet: what it does not support it refuses by
name (`supported`).
"""
