"""The demo's command line within the namespace of the gNB, where `sojourn-demo` goes on."""

from __future__ import annotations

import sys

from sojourn_demo.cli import make_parser, run_command
from sojourn_demo.oai.run import run

if __name__ == "__main__":
    sys.exit(run_command(run, make_parser().parse_args()))
