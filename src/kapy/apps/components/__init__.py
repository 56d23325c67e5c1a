"""What the components of any provider are made of, ours and other people's.

* `objects`   objects, written down, with the label of their provider
* `rules`     rights as rules of roles; roles and who has them
* `programs`  what any program of controllers needs: Lease, certificate, who may see diagnostics
* `pods`      a pod that may do as little as possible
* `serving`   names of what webhooks are served by
"""
