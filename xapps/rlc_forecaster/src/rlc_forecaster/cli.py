"""`rlc-forecaster`: runs the xApp; `rlc-forecaster lockstep` serves a simulator over a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ric import load_settings, run_xapp
from ric.errors import SettingsError
from ric.security import check_files
from ric.terminal import complain

from rlc_forecaster.app import main as run
from rlc_forecaster.lockstep import command as lockstep
from rlc_forecaster.settings import ForecasterSettings

NAME = "rlc-forecaster"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program; returns 2 for invalid settings."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    # All settings are flags, so a first word is the subcommand.
    if words[:1] == [lockstep.NAME]:
        return lockstep.main(words[1:])
    try:
        settings = load_settings(
            ForecasterSettings,
            prog=NAME,
            arguments=words,
            example=f"{NAME} --gateway 127.0.0.1:36421 --listen 127.0.0.1:36422",
        )
        check_files(settings)
    except SettingsError as error:
        complain(NAME, error)
        return 2
    return run_xapp(NAME, settings, run)


if __name__ == "__main__":
    sys.exit(main())
