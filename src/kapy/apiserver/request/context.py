"""One request as the verbs see it: resolved, authenticated, with parsed options."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from kapy.apiserver.admission.plugin import Review
from kapy.apiserver.auth.authorization import Attributes, Authorizer
from kapy.apiserver.errors import invalid_parameters
from kapy.apiserver.request.limits.large_requests import (
    LARGE,
    LARGE_YAML,
    LargeRequestQueue,
    Result,
)
from kapy.apiserver.request.parameters import dry_run_error, dry_run_values
from kapy.apiserver.resources.kind import Kind
from kapy.kube.http import Request, User

MANAGER_LIMIT = 128


class RequestContext(Struct):  # every request creates one; a Struct is created in C
    """A request for a resource.

    verb: the API verb (`create`, `list` …). name: the name in the path; a create sets it from the
    body. warnings: the values of the `Warning` header, in order. authorize: authorizes actions
    beyond the verb; None for superusers. guard: checks the object before its validation. is_large:
    whether computations run in a thread of `large_work`. was_defaulted: whether the stored object
    got defaults of the storage version.
    """

    request: Request
    user: User
    verb: str
    kind: Kind
    namespace: str
    name: str
    subresource: str
    warnings: list[str] = field(default_factory=list)
    authorize: Authorizer | None = None
    guard: Callable[[Review], None] | None = None
    is_large: bool = False
    was_defaulted: bool = False
    large_work: LargeRequestQueue | None = None

    @property
    def query(self) -> Mapping[str, str]:
        return self.request.query

    @property
    def field_manager(self) -> str:
        """Return the field manager: the parameter `fieldManager`, or the name of the client's
        program.
        """
        named = self.request.query.get("fieldManager")
        if named:
            return named
        agent = self.request.headers.get("user-agent", "")
        return agent.split("/", 1)[0][:MANAGER_LIMIT] or "unknown"

    def check_access(self, verb: str) -> None:
        """Check that the user may also use another verb on the same object. Raises Forbidden."""
        if self.authorize is not None:
            resource = self.kind.resource
            self.authorize(
                Attributes(
                    self.user,
                    verb,
                    resource.group,
                    resource.version,
                    resource.plural,
                    self.subresource,
                    self.namespace,
                    self.name,
                )
            )

    async def compute(self, work: Callable[[], Result], /) -> Result:
        """Run a pure computation, in a thread for a large request, and return its result."""
        if self.is_large and self.large_work is not None:
            return await self.large_work.run(self.user, work)
        return work()

    def dry_run(self, options: str) -> bool:
        """Report whether the request is a dry run. options: the kind of the options, for the
        error.
        """
        values = dry_run_values(self.request.query)
        if values and (error := dry_run_error(values)) is not None:
            raise invalid_parameters(options, [error])
        return bool(values)


def is_over_network(context: RequestContext) -> bool:
    """Report whether the request came over the network (and not from this process)."""
    return context.request.arrival is not None


def is_large_request(request: Request) -> bool:
    """Report whether the body is so large that its work should yield to other requests."""
    raw = request.body
    if not isinstance(raw, bytes) or len(raw) <= LARGE_YAML or request.arrival is None:
        return False
    return len(raw) > LARGE or "yaml" in request.headers.get("content-type", "")
