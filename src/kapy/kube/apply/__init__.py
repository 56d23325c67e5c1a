"""Field ownership (`metadata.managedFields`): server-side apply, and tracking of other writes.

Everything here is pure. An API server compiles one `Types` per served version, bundles the
versions of a kind in a `Tracker`, and calls it once per write:

    tracker = Tracker({"x.dev/v1": Types.of_schema(schema)})         # CRD
    tracker = Tracker({"v1": Types.of_struct(structs, "core.v1.ConfigMap")})   # core kind

    after = tracker.track(live, new, write)        # create (live None), update, patch
    after = tracker.apply(live, applied, write, force=False)  # server-side apply

`after` carries the new `metadata.managedFields`; it is `live` itself when nothing changed, so that
the server can leave out the write. Nothing is mutated, and what did not change is shared.
"""

from kapy.kube.apply.kinds import Types
from kapy.kube.apply.managers import Write
from kapy.kube.apply.tracker import ToVersion, Tracker

__all__ = ["ToVersion", "Tracker", "Types", "Write"]
