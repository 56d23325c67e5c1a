"""Moving clusters from one management cluster to another, so that none can be stranded.

    source and target → discovery → graph → plan → journal → copying → verification → removal

* `graph`, `plan`: what belongs to whom and what is done with it, pure
* `journal`: what is going to be done and what was done, on disk before each step
* `mover`: the steps in their order; `resume` and `roll_back` go on from any of them
* `directory`: the same objects as files

Upstream: `cmd/clusterctl/client/cluster/{objectgraph,mover}.go` and the clusterctl contract's
section on move. docs/concepts/move.md tells how a move stays whole when it is interrupted.
"""
