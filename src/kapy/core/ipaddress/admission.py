"""The check of an IPAddress that reads its claim."""

from __future__ import annotations

from typing import Final

from kapy.api.ip_address import IPAddress, IPAddressClaim
from kapy.client.client import Client
from kapy.kube import Key
from kapy.kube.errors import ApiError, NotFound, Unreachable
from kapy.kube.field_errors import FieldError, invalid
from kapy.kube.model import encode

_OTHER_POOL: Final = (
    "the referenced pool is different from the pool referenced by the claim this address should "
    "fulfill"
)


async def claim_errors(client: Client, address: IPAddress) -> list[FieldError]:
    """Return the errors of a new address: it must be from the pool of its claim, if the claim
    exists.
    """
    name = address.spec.claim_ref.name
    if not name:
        return [_read_error("resource name may not be empty")]
    try:
        claim = await client.get(IPAddressClaim, Key(address.metadata.namespace, name))
    except NotFound:
        return []
    except (ApiError, Unreachable) as error:
        return [_read_error(str(error))]
    pool = address.spec.pool_ref
    if claim.spec.pool_ref == pool:
        return []
    return [invalid("spec.poolRef", encode(pool), _OTHER_POOL)]


def _read_error(reason: str) -> FieldError:
    return FieldError("InternalError", "spec.claimRef", f"failed to fetch claim: {reason}")
