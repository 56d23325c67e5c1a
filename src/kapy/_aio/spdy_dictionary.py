"""The compression dictionary of SPDY/3.1's header blocks (section 2.6.10.1 of its
specification).
"""

from __future__ import annotations

from typing import Final

_WORDS: Final = (
    "options|head|post|put|delete|trace|accept|accept-charset|accept-encoding|accept-language"
    "|accept-ranges|age|allow|authorization|cache-control|connection|content-base|content-enc"
    "oding|content-language|content-length|content-location|content-md5|content-range|content"
    "-type|date|etag|expect|expires|from|host|if-match|if-modified-since|if-none-match|if-ran"
    "ge|if-unmodified-since|last-modified|location|max-forwards|pragma|proxy-authenticate|pro"
    "xy-authorization|range|referer|retry-after|server|te|trailer|transfer-encoding|upgrade|u"
    "ser-agent|vary|via|warning|www-authenticate|method|get|status|200 OK|version|HTTP/1.1|ur"
    "l|public|set-cookie|keep-alive|origin"
)
_ENDING: Final = (
    "1001012012022052063003023033043053063074024054064074084094104114124134144154164175025045"
    "05203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401"
    " Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 "
    "Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, "
    "Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/"
    "xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,s"
    "dchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)

DICTIONARY: Final = (
    b"".join(len(word).to_bytes(4, "big") + word.encode() for word in _WORDS.split("|"))
    + _ENDING.encode()
)
