"""English plurals, exactly as upstream forms them (`github.com/gobuffalo/flect` v1.0.3).

The name of a CRD contains the plural of its kind, and messages contain plurals of kinds. Both must
equal upstream's, including its oddities (`dns` → `dnsDNSes`).
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final, NamedTuple

# Irregular words, the later ones tried first: `singular:plural`, `/` a second plural (known, but
# never made), `>` a plural that says nothing about the singular, `=` a word that counts only alone
# (`ox`, but not `box`); a single word is its own plural.
_WORDS: Final = """
    aircraft beef:beef/beefs bison blues chassis deer fish:fish/fishes moose police
    salmon:salmon/salmons series sheep shrimp:shrimp/shrimps species swine:swine/swines
    trout:trout/trouts tuna:tuna/tunas you child:children =ox:oxen foot:feet goose:geese man:men
    human:humans =louse:lice mouse:mice tooth:teeth woman:women =die:dice person:people
    adieu:adieux/adieus fabliau:fabliaux bureau:bureaus/bureaux criterion:criteria
    ganglion:ganglia/ganglions lexicon:lexica/lexicons mitochondrion:mitochondria/mitochondrions
    noumenon:noumena phenomenon:phenomena taxon:taxa media medium>media/mediums
    stadium:stadiums/stadia aquarium:aquaria/aquariums auditorium:auditoria/auditoriums
    symposium:symposia/symposiums curriculum:curriculums/curricula quota:quotas
    alumnus:alumni/alumnuses bacillus:bacilli cactus:cacti/cactuses coccus:cocci
    focus:foci/focuses locus:loci/locuses nucleus:nuclei/nucleuses octopus:octupuses/octopi
    radius:radii/radiuses syllabus:syllabi corpus:corpora/corpuses genus:genera alumna:alumnae
    vertebra:vertebrae differentia:differentiae minutia:minutiae vita:vitae larva:larvae
    postcava:postcavae praecava:praecavae uva:uvae apex:apices/apexes codex:codices/codexes
    index:indices/indexes latex:latices/latexes vertex:vertices/vertexes
    vortex:vortices/vortexes appendix:appendices/appendixes radix:radices/radixes
    helix:helices/helixes =axis:axes crisis:crises ellipsis>ellipses genesis:geneses oasis:oases
    thesis:theses testis:testes base:bases basis>bases =alias:aliases vedalia:vedalias =use:uses
    abuse:abuses cause:causes clause:clauses cruse:cruses excuse:excuses fuse:fuses house:houses
    misuse:misuses muse:muses pause:pauses ache:aches topaz:topazes buffalo:buffaloes/buffalos
    potato:potatoes tomato:tomatoes equipment information jeans money news rice
    dwarf:dwarfs/dwarves hoof:hoofs/hooves thief:thieves chive:chives hive:hives move:moves
    movie:movies cookie:cookies pretorium:pretoriums agenda:agendas formula:formulas/formulae
    shoe:shoes =toe:toes graffiti =ID:IDs
"""

# Endings, tried in this order after the words.
_ENDINGS: Final = """
    tive:tives eaf:eaves oaf:oaves afe:aves arf:arves rfe:rves rf:rves lf:lves fe:ves ay:ays
    ey:eys oy:oys quy:quies uy:uys y:ies eau:eaux bula:bulae dula:bulae lula:bulae nula:bulae
    vula:bulae hedron:hedra ium:ia seum:seums eum:ea oum:oa stracum:straca dum:da elum:ela
    ilum:ila olum:ola ulum:ula llum:lla ylum:yla imum:ima ernum:erna gnum:gna brum:bra crum:cra
    terum:tera serum:sera trum:tra antum:anta atum:ata entum:enta etum:eta itum:ita otum:ota
    utum:uta ctum:cta ovum:ova trix:trices iasis:iases mesis:meses kinesis:kineses resis:reses
    gnosis:gnoses opsis:opses ysis:yses ouse:ouses lause:lauses us:uses ch:ches io:ios sh:shes
    ss:sses ez:ezzes iz:izzes tz:tzes zz:zzes ano:anos lo:los to:tos oo:oos o:oes x:xes S:Ses
"""

_ACRONYMS: Final = """
    OK UTF8 HTML JSON JWT ID UUID SQL ACK ACL ADSL AES ANSI API ARP ATM BGP BSS CCITT CHAP
    CIDR CIR CLI CPE CPU CRC CRT CSMA CMOS DCE DEC DES DHCP DNS DRAM DSL DSLAM DTE DMI EHA
    EIA EIGRP EOF ESS FCC FCS FDDI FTP GBIC GEPOF HDLC HTTP HTTPS IANA ICMP IDF IDS IEEE
    IETF IMAP IP IPS ISDN ISP LACP LAN LAPB LAPF LLC MAC MC MDF MIB MPLS MTU NAC NAT NBMA
    NIC NRZ NRZI NVRAM OSI OSPF OUI PAP PAT PC PIM PCM PDU POP3 POTS PPP PPTP PTT PVST RAM
    RARP RFC RIP RLL ROM RSTP RTP RCP SDLC SFD SFP SLARP SLIP SMTP SNA SNAP SNMP SOF SRAM
    SSH SSID STP SYN TDM TFTP TIA TOFU UDP URL URI USB UTP VC VLAN VLSM VPN W3C WAN WEP WPA
    WWW
"""


class _Ending(NamedTuple):
    ending: str
    plural: str


class _Tables(NamedTuple):
    plurals: dict[str, str]
    known_plurals: frozenset[str]
    endings: tuple[_Ending, ...]
    acronyms: frozenset[str]


@cache
def _tables() -> _Tables:
    plurals: dict[str, str] = {}
    singulars: set[str] = set()
    endings: list[_Ending] = []
    for entry in _WORDS.split():
        alone, word = entry.startswith("="), entry.removeprefix("=")
        forms = re.split("[:>/]", word)
        singular, plural = forms[0], (forms[1] if len(forms) > 1 else forms[0])
        plurals[singular] = plural
        if ">" not in word:
            singulars.update(forms[1:] or forms)
        if not alone:
            endings.append(_Ending(singular, plural))
    endings.reverse()
    endings += [_Ending(*entry.split(":")) for entry in _ENDINGS.split()]
    return _Tables(plurals, frozenset(singulars), tuple(endings), frozenset(_ACRONYMS.split()))


@lru_cache(maxsize=1024)
def plural(word: str) -> str:
    """Return the plural of a word; in a compound word (`ControlPlane`), of its last part."""
    last = _last_word(word)
    if not last:
        return ""
    tables = _tables()
    if word in tables.plurals:
        return tables.plurals[word]
    if word in tables.known_plurals or last.lower() in tables.known_plurals:
        return word
    irregular = tables.plurals.get(last.lower())
    if irregular is not None:
        if last[:1].isupper():
            irregular = irregular[:1].upper() + irregular[1:]
        return word.removesuffix(last) + irregular
    for ending, replacement in tables.endings:
        if last.endswith(replacement):
            return word.removesuffix(last) + last
        if last.endswith(ending):
            return word.removesuffix(last) + last.removesuffix(ending) + replacement
    return word if last.lower().endswith("s") else word + "s"


def _last_word(word: str) -> str:
    """Return the last part of a compound word; an acronym is returned in capitals."""
    word = word.strip()
    acronyms = _tables().acronyms
    if word.upper() in acronyms:
        return word.upper()
    parts = [""]
    previous = ""
    for character in word:
        starts = character.isupper() and (not previous.isupper() or parts[-1].upper() in acronyms)
        if character in "_ :-/" or starts:
            parts.append("")
        if character not in "_ :-/":
            parts[-1] += character
        previous = character
    return next((part for part in reversed(parts) if part), "")
