"""``rlc-forecaster``: starts the xApp, or with ``lockstep`` serves a simulator through a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ric import load_settings, run_xapp
from ric.errors import SettingsError

from rlc_forecaster.app import main as run
from rlc_forecaster.lockstep import command as lockstep
from rlc_forecaster.settings import ForecasterSettings

NAME = "rlc-forecaster"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program; 2 for settings that are wrong."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    # A word in front of all settings, which are flags: no setting can be mistaken for it.
    if words[:1] == [lockstep.NAME]:
        return lockstep.main(words[1:])
    try:
        settings = load_settings(ForecasterSettings, prog=NAME, arguments=words)
        settings.forecast.credentials()
    except SettingsError as error:
        print(f"{NAME}: {error}", file=sys.stderr)
        return 2
    return run_xapp(NAME, settings, run)


if __name__ == "__main__":
    sys.exit(main())
