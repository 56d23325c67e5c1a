"""A node agent: runs the Pods that are bound to one Node, and reports their status.

It does for the Pods of providers on a plane what a kubelet does. Each of its runtimes is a
`Runtime`, such as local processes (`processes`). It refuses unsupported fields by name
(`supported`).
"""
