"""Compare the embedded API server with kube-apiserver, by requests that are made at random.

    KUBEBUILDER_ASSETS=… python -m tests.differential --area apply --count 2000 --seed 1 --jobs 2

Prints for each area how many answers were equal, and the classes of differences; how far it is, on
standard error. `--shrink N` shows
the smallest case of the N most frequent classes, `--keep` adds these to `tests/data/differential`.
`--case AREA:NUMBER` plays one case and prints every difference.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.differential.case import Case
from tests.differential.comparing import with_answers
from tests.differential.initial_objects import prepare
from tests.differential.keeping import keep
from tests.differential.peers import remote
from tests.differential.playing import differences
from tests.differential.real import NoRealServer, assets, kube_apiserver
from tests.differential.shrinking import shrunk
from tests.differential.working import AREAS, HOOKED, Found, Part, compare, generated, pair

CHUNK = 100


def main(arguments: list[str] | None = None) -> int:
    """Read the command line and compare."""
    options = _parser().parse_args(arguments)
    try:
        with _real(options) as (url, ca):
            asyncio.run(_prepared(url, ca))
            if options.serve:
                _say(json.dumps({"url": url, "ca": ca}))
                sys.stdin.read()
                return 0
            if options.case:
                return asyncio.run(_one(options, url, ca))
            areas = options.area or list(AREAS)
            good = [_area(options, area, url, ca) for area in areas]
            return 0 if all(good) else 1
    except NoRealServer as error:
        sys.stderr.write(f"{error}\n")
        return 2


@contextmanager
def _real(options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    if options.server:
        document = json.loads(options.server.read_text())
        yield document["url"], document["ca"]
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        kube_apiserver(assets(), Path(folder)) as apiserver,
    ):
        yield apiserver


async def _prepared(url: str, ca: str) -> None:
    async with remote(url, ca) as peer:
        await prepare(peer)


def _area(options: argparse.Namespace, area: str, url: str, ca: str) -> bool:
    """Compare one area; whether as many answers are equal as are asked for."""
    numbers = range(options.first, options.first + options.count)
    parts = [
        Part(area, options.seed, numbers[start : start + CHUNK], url, ca)
        for start in range(0, len(numbers), CHUNK)
    ]
    result = Found()
    if options.jobs == 1:
        for part in parts:
            result.add(compare(part))
    else:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
            for item in pool.map(compare, parts):
                result.add(item)
    share = 100 * result.equal / max(result.answers, 1)
    dropped = f" ({result.dropped} after a panic of the real server)" if result.dropped else ""
    _say(f"{area:<10} {result.answers:>7} answers {result.equal:>7} equal {share:7.2f} %{dropped}")
    if result.lost:
        _say(f"  not played, as a server gave no answer in time: {result.lost}")
    ranked = sorted(result.causes.items(), key=lambda pair: -result.unequal[pair[0]])
    for cause, cases in ranked[: options.show]:
        _say(f"  {result.unequal[cause]:>5} {cause}   [{', '.join(map(str, cases[:4]))}]")
    if options.shrink:
        asyncio.run(_shrink(options, area, url, ca, dict(ranked[: options.shrink])))
    if options.sample:
        unequal = {number for cases in result.causes.values() for number in cases}
        asyncio.run(_sample(options, area, url, ca, [n for n in numbers if n not in unequal]))
    return bool(share >= options.least)


async def _shrink(
    options: argparse.Namespace, area: str, url: str, ca: str, causes: dict[str, list[int]]
) -> None:
    """Print (and keep) the smallest case of each class."""
    results: list[Case] = []
    async with pair(url, ca, hooks=area in HOOKED) as both:
        for cause, numbers in causes.items():
            case = generated(area, options.seed, numbers[0])
            case = await shrunk(both, case, cause)
            outcome = await both.compare(case)
            if outcome.cause != cause:
                _say(f"  not again: {cause}")
                continue
            case = with_answers({**case, "title": cause}, outcome.expected)
            results.append(case)
            _say(f"\n{cause}")
            for step in case["steps"]:
                _say("  " + json.dumps({k: v for k, v in step.items() if k != "response"}))
            for number in outcome.unequal[:1]:
                for line in differences(outcome.expected[number], outcome.given[number])[:6]:
                    _say(f"    {line[:900]}")
    if options.keep:
        _say(f"{keep(area, results)} cases are new in tests/data/differential/{area}.jsonl")


async def _sample(
    options: argparse.Namespace, area: str, url: str, ca: str, numbers: list[int]
) -> None:
    """Keep some cases of which every answer was equal."""
    results: list[Case] = []
    async with pair(url, ca, hooks=area in HOOKED) as both:
        for number in numbers:
            case = generated(area, options.seed, number)
            outcome = await both.compare(case)
            if not outcome.unequal and len(results) < options.sample:
                results.append(with_answers(case, outcome.expected))
    _say(f"{keep(area, results)} cases are new in tests/data/differential/{area}.jsonl")


async def _one(options: argparse.Namespace, url: str, ca: str) -> int:
    """Play one case and print what differs."""
    area, _, number = options.case.partition(":")
    case = generated(area, options.seed, int(number))
    async with pair(url, ca, hooks=area in HOOKED) as both:
        outcome = await both.compare(case)
    for at, step in enumerate(case["steps"]):
        _say(f"{at} {json.dumps(step)}")
        for line in differences(outcome.expected[at], outcome.given[at]):
            _say(f"    {line}")
    return 1 if outcome.unequal else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.differential")
    parser.add_argument("--area", action="append", choices=AREAS, help="only this one; repeatable")
    parser.add_argument("--count", type=int, default=200, help="cases of each area")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--show", type=int, default=25, help="classes of differences to print")
    parser.add_argument("--shrink", type=int, default=0, help="classes to find a small case of")
    parser.add_argument("--keep", action="store_true", help="keep the small cases as tests")
    parser.add_argument("--sample", type=int, default=0, help="equal cases to keep as tests")
    parser.add_argument("--case", default="", metavar="AREA:NUMBER", help="play only this case")
    parser.add_argument("--least", type=float, default=99.5, help="per cent that must be equal")
    parser.add_argument("--serve", action="store_true", help="start the real server and wait")
    parser.add_argument("--server", type=Path, help="file with what --serve printed")
    return parser


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
