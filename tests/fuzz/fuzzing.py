"""Runs the fuzz targets with libFuzzer on stable Rust, as many at once as there are cores.

    python tests/fuzz/fuzzing.py [--seconds S | --runs N] [--seed N] [--jobs N] [--only-own]
        [--out FOLDER] [TARGET ...]

A line per target says what it did: inputs, inputs per second, edges covered of all, inputs kept,
and the outcome. The exit code is 1 if a target found something; the input is then in
`FOLDER/findings`. Inputs that reach new code are kept in `FOLDER/corpus` for the next run.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parents[1]
CRATES: Final = {"sojourn-fuzz": HERE, "lab-fuzz": ROOT / "lab" / "fuzz"}
"""Folders of the crates with targets: of the product and of the lab, each a Cargo workspace."""
PREFIX: Final = "fuzz_"
# The passes of LLVM that libFuzzer reads; cargo-fuzz sets the same, and needs no nightly compiler
# for them. Frames and checks are for the findings.
FLAGS: Final = " ".join(
    (
        "-Cpasses=sancov-module",
        "-Cllvm-args=-sanitizer-coverage-level=4",
        "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
        "-Cllvm-args=-sanitizer-coverage-pc-table",
        "-Cllvm-args=-sanitizer-coverage-trace-compares",
        "-Cdebug-assertions=on",
        "-Coverflow-checks=on",
        "-Cdebuginfo=line-tables-only",
        "-Cforce-frame-pointers=yes",
        "--cfg=fuzzing",
    )
)
SLOWEST_INPUT_S: Final = 10
MAX_RSS_MIB: Final = 2048
STOP_AFTER_S: Final = 60
"""Time beyond `--seconds` after which a target hangs."""

_EXECUTED = re.compile(r"^stat::number_of_executed_units: (\d+)", re.MULTILINE)
_COVERED = re.compile(r"\bcov: (\d+) .*?\bcorp: (\d+)")
_EDGES = re.compile(r"Loaded 1 modules +\((\d+) inline 8-bit counters\)")
_LENGTH = re.compile(r"^    (\w+): (.+?), \(", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run of a target did."""

    target: str
    inputs: int
    seconds: float
    covered: int
    edges: int
    kept: int
    finding: str

    def __str__(self) -> str:
        rate = self.inputs / self.seconds if self.seconds else 0.0
        return (
            f"{self.target:18} {self.inputs:>11,} inputs {rate:>9,.0f}/s "
            f"{self.covered:>6,} of {self.edges:,} edges {self.kept:>6,} kept  "
            f"{self.finding or 'ok'}"
        )


def targets() -> list[str]:
    """The names of all targets."""
    return sorted(path.stem for folder in CRATES.values() for path in folder.glob("fuzzers/*.rs"))


def crate_of(target: str) -> Path:
    """The folder of the crate that has a target."""
    return next(f for f in CRATES.values() if (f / "fuzzers" / f"{target}.rs").exists())


def build(only_own: bool) -> Path:
    """Builds the programs of the targets; returns their folder.

    With `only_own` libFuzzer sees the coverage of the crates of a target's workspace alone, and
    all others are those of the programs: a build of minutes less. Otherwise libraries are
    instrumented as well.
    """
    command = ["cargo", "build", "--locked", "--release", "--bins", "--features", "libfuzzer"]
    folder, environment = ROOT / "target" / "release", dict(os.environ)
    if only_own:
        environment["RUSTC_WORKSPACE_WRAPPER"] = str(HERE / "rustc-with-coverage")
        environment["COVERAGE_FLAGS"] = FLAGS
    else:
        version = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True)
        host = re.search(r"^host: (\S+)", version.stdout, re.MULTILINE)
        if host is None:
            raise SystemExit("rustc -vV does not name its host")
        # With --target the flags are those of the targets alone: build scripts and macros are those
        # of the programs.
        command += ["--target", host[1]]
        folder = ROOT / "target" / host[1] / "release"
        environment["RUSTFLAGS"] = FLAGS
    for crate, source in CRATES.items():
        selected = [*command, "--manifest-path", str(source / "Cargo.toml"), "-p", crate]
        if subprocess.run(selected, check=False, cwd=ROOT, env=environment).returncode:
            raise SystemExit("the fuzz targets were not built; cargo says above why")
    return folder


def longest(target: str) -> int:
    """The longest input of a target, by the table of targets."""
    file = crate_of(target) / "src" / "lib.rs"
    table = file.read_text(encoding="utf-8")
    for name, bytes_ in _LENGTH.findall(table):
        if name == target:
            count, unit = bytes_.split(" * ") if " * " in bytes_ else (bytes_, "1")
            return int(count) * {"KIB": 1024, "MIB": 1 << 20, "1": 1}[unit]
    raise SystemExit(f"{target}: not in the table of {file}")


def fuzz(program: Path, target: str, out: Path, limit: Sequence[str], most_s: float) -> Outcome:
    """Runs a target until its limit or its first finding."""
    corpus, findings = out / "corpus" / target, out / "findings"
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    command = [
        str(program), *limit,
        f"-max_len={longest(target)}", f"-timeout={SLOWEST_INPUT_S}",
        f"-rss_limit_mb={MAX_RSS_MIB}", "-print_final_stats=1",
        f"-artifact_prefix={findings / target}-",
        str(corpus), str(crate_of(target) / "corpus" / target),
    ]  # fmt: skip
    log = out / f"{target}.log"
    began = time.monotonic()
    with log.open("w", encoding="utf-8") as file:
        try:
            code = subprocess.run(
                command, stdout=file, stderr=subprocess.STDOUT, check=False, timeout=most_s
            ).returncode
        except subprocess.TimeoutExpired:
            code = -1
    seconds = time.monotonic() - began
    text = log.read_text(encoding="utf-8", errors="replace")
    covered, kept = max(
        ((int(covered), int(kept)) for covered, kept in _COVERED.findall(text)), default=(0, 0)
    )
    edges, executed = _EDGES.search(text), _EXECUTED.search(text)
    return Outcome(
        target=target,
        inputs=int(executed[1]) if executed else 0,
        seconds=seconds,
        covered=covered,
        edges=int(edges[1]) if edges else 0,
        kept=kept,
        finding="" if code == 0 else f"FOUND SOMETHING: {log}",
    )


def run(arguments: argparse.Namespace) -> Iterator[Outcome]:
    """Runs the targets; an outcome as each ends."""
    folder = build(arguments.only_own)
    out = arguments.out.resolve()
    if arguments.runs:
        limit, most_s = [f"-runs={arguments.runs}"], float("inf")
    else:
        limit = [f"-max_total_time={arguments.seconds}"]
        most_s = arguments.seconds + STOP_AFTER_S
    limit.append(f"-seed={arguments.seed}")
    with ThreadPoolExecutor(arguments.jobs) as pool:
        yield from pool.map(
            lambda target: fuzz(folder / f"{PREFIX}{target}", target, out, limit, most_s),
            arguments.targets,
        )


def main(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Runs the fuzz targets of every parser in Rust.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="default: all")
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument("--seconds", type=int, default=60, help="per target; default 60")
    limit.add_argument("--runs", type=int, help="inputs per target instead of a time")
    parser.add_argument(
        "--seed", type=int, default=0, help="of libFuzzer; default 0, another each time"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--only-own", action="store_true", help="without coverage of libraries: a short build"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "fuzz")
    arguments = parser.parse_args(argv)
    known = targets()
    for name in arguments.targets:
        if name not in known:
            parser.error(f"{name}: no target; expected some of {', '.join(known)}")
    arguments.targets = arguments.targets or known
    has_finding = False
    for outcome in run(arguments):
        print(outcome, flush=True)
        has_finding |= bool(outcome.finding)
    return int(has_finding)


if __name__ == "__main__":
    sys.exit(main())
