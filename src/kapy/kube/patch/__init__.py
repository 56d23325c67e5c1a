"""The three patch languages of Kubernetes as pure functions: new documents that share what stayed.

No function here changes its arguments; parts that a patch does not touch are the same objects in
the result, so that a caller can find what changed by identity.
"""
