"""`ric-sm`: service model messages between hexadecimal and JSON, one a line.

`ric-sm decode --sm rlc` reads one hex string per line and prints one JSON line for each,
`{"value": …}` or `{"error": …}`; `ric-sm encode` is the inverse and prints `{"hex": …}`. Empty
lines are skipped. The exit status is 0 even if some lines are errors. E2SM-KPM is decoded only.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, cast, get_args

from bounded_input import JsonError, parse_json

from ric.errors import RicError, ServiceModelError, ServiceModelUnavailable
from ric.flags import ProgramParser
from ric.sm import kpm_bytes, mac, rlc, tc
from ric.terminal import complain
from ric.version import VERSION

TC_KINDS: Final = get_args(tc.Kind)

Decode = Callable[[bytes], Any]
Encode = Callable[[Any], bytes]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool; returns the exit status."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.sm == "kpm" and given.type not in kpm_bytes.KINDS:
        parser.error(f"--type {given.type}: expected {' or '.join(kpm_bytes.KINDS)} with --sm kpm")
    decode, encode = codec(given.sm, given.type, given.encoding)
    answers = (
        decoded(decode, sys.stdin.buffer)
        if given.action == "decode"
        else encoded(encode, sys.stdin.buffer)
    )
    try:
        for answer in answers:
            sys.stdout.write(json.dumps(answer, allow_nan=False) + "\n")
            sys.stdout.flush()
    except ServiceModelUnavailable as error:
        complain("ric-sm", error)
        return 1
    except (BrokenPipeError, KeyboardInterrupt):
        # The reader is gone: keep the interpreter from reporting that standard output is closed.
        sys.stderr.close()
        return 1
    return 0


def codec(model: str, kind: tc.Kind, encoding: tc.Encoding) -> tuple[Decode, Encode]:
    """Decoder to JSON values and encoder from them for a service model."""
    if model == "rlc":
        return (lambda data: rlc.to_json(rlc.decode(data)), lambda value: _encode_table(rlc, value))
    if model == "mac":
        return (lambda data: mac.to_json(mac.decode(data)), lambda value: _encode_table(mac, value))
    if model == "kpm":
        return (lambda data: kpm_bytes.decode(cast(kpm_bytes.Kind, kind), data), _no_encoder)
    return (
        lambda data: tc.decode(kind, data, encoding),
        lambda value: tc.encode(kind, value, encoding),
    )


def decoded(decode: Decode, lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The result for each line of hexadecimal digits."""
    for line in lines:
        text = line.strip()
        if not text:
            continue
        try:
            yield {"value": decode(_bytes_of_hex(text))}
        except ServiceModelUnavailable:
            raise
        except RicError as error:
            yield {"error": str(error)}


def encoded(encode: Encode, lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The result for each line of JSON: a value, or `{"value": …}` as printed by `decode`."""
    for line in lines:
        text = line.strip()
        if not text:
            continue
        try:
            yield {"hex": encode(_value_of_json(text)).hex()}
        except ServiceModelUnavailable:
            raise
        except RicError as error:
            yield {"error": str(error)}


def _no_encoder(_: Any) -> bytes:
    raise ServiceModelError("kpm", "line", "a value", "bytes: KPM is decoded only")


def _encode_table(model: Any, value: Any) -> bytes:
    table = model.from_json(value)
    result: bytes = model.encode(table.records, table.tstamp_us)
    return result


def _bytes_of_hex(text: bytes) -> bytes:
    try:
        return bytes.fromhex(text.decode("ascii"))
    except ValueError:
        shown = text[:40].decode("ascii", "backslashreplace")
        raise ServiceModelError(
            "line", "text", repr(shown), "hexadecimal digits, two for each byte"
        ) from None


def _value_of_json(text: bytes) -> Any:
    try:
        value = parse_json(text)
    except JsonError as error:
        raise ServiceModelError("line", "text", error.problem, error.expected) from None
    if isinstance(value, dict) and value.keys() == {"value"}:
        return value["value"]
    return value


def _parser() -> argparse.ArgumentParser:
    parser = ProgramParser(
        prog="ric-sm",
        description="Service model messages between hexadecimal and JSON, one line in, one out.",
        example="ric-sm decode --sm tc --encoding v1 --type control < messages.hex",
        version=VERSION,
    )
    actions = parser.add_subparsers(dest="action", required=True)
    for action, description in (
        ("decode", 'hex lines to {"value": …} or {"error": …}'),
        ("encode", 'JSON lines to {"hex": …} or {"error": …}'),
    ):
        sub = actions.add_parser(action, help=description, description=description)
        models = ("rlc", "mac", "tc", "kpm") if action == "decode" else ("rlc", "mac", "tc")
        sub.add_argument("--sm", required=True, choices=models, help="service model")
        sub.add_argument(
            "--type",
            choices=TC_KINDS,
            default="indication",
            help="information element of TC (default: %(default)s); KPM has this and"
            " indication-header, RLC and MAC have indications",
        )
        sub.add_argument(
            "--encoding",
            choices=("v0", "v1"),
            default="v0",
            help="encoding of TC (default: %(default)s)",
        )
    return parser


if __name__ == "__main__":
    sys.exit(main())
