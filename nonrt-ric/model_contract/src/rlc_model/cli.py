"""``rlc-model``: checks and signs a model directory, prints the manifest's JSON schema."""

from __future__ import annotations

import argparse
import json
import sys
from importlib.metadata import version
from pathlib import Path

from rlc_model.contract import read_contract
from rlc_model.errors import ContractError
from rlc_model.graph import check_graph
from rlc_model.manifest import Manifest
from rlc_model.signature import read_trusted_keys, sign, verify_signature


def manifest_schema() -> str:
    """The JSON schema of ``manifest.json``."""
    return json.dumps(Manifest.model_json_schema(by_alias=True), indent=2) + "\n"


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns 0 for a valid model, 2 otherwise."""
    parser = argparse.ArgumentParser(
        prog="rlc-model",
        description="Check or sign a model directory, print the JSON schema of manifest.json.",
        epilog="example:\n  rlc-model check out/run/model",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version",
        action="version",
        version=f"%(prog)s {version('sojourn-rlc-model')}",
        help="print the version and exit",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser(
        "check", help="check digests, manifest and graph of a model directory"
    )
    check.add_argument("directory", type=Path)
    check.add_argument(
        "--trusted-keys",
        type=Path,
        metavar="FILE",
        help="require a signature by one of these Ed25519 public keys, PEM",
    )
    signing = commands.add_parser("sign", help="sign SHA256SUMS of a model directory")
    signing.add_argument("directory", type=Path)
    signing.add_argument(
        "--key", type=Path, required=True, metavar="FILE", help="Ed25519 private key, PEM"
    )
    commands.add_parser("schema", help="print the JSON schema of manifest.json")
    arguments = parser.parse_args(argv)
    if arguments.command == "schema":
        sys.stdout.write(manifest_schema())
        return 0
    try:
        if arguments.command == "sign":
            read_contract(arguments.directory)
            sign(arguments.directory, arguments.key)
            return 0
        checksums = None
        if arguments.trusted_keys is not None:
            keys = read_trusted_keys(arguments.trusted_keys)
            checksums = verify_signature(arguments.directory, keys)
        contract = read_contract(arguments.directory, checksums)
        check_graph(contract.onnx)
    except (ContractError, OSError) as error:
        print(f"rlc-model: {error}", file=sys.stderr)
        return 2
    m = contract.manifest
    points_us = m.horizon.points_us
    print(
        f"{m.name}: {', '.join(m.quantities)} at {len(points_us)} points from {points_us[0]} to"
        f" {points_us[-1]} µs, quantiles {m.quantiles}, {len(contract.onnx)} bytes"
    )
    return 0
