"""Moves clusters from one management cluster to another so that none can be stranded.

    source and target → discovery → graph → plan → journal → copying → verification → removal

* `graph`, `plan`: ownership of objects and what is done with each, pure
* `journal`: the planned and the finished steps, on disk before each step
* `mover`: the steps in order; `resume` and `roll_back` continue from any of them
* `directory`: the same objects as files

Upstream: `cmd/clusterctl/client/cluster/{objectgraph,mover}.go` and the clusterctl contract's
section on move. docs/concepts/move.md describes how a move survives interruptions.
"""
