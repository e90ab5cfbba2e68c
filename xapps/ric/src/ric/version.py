"""The version of Sojourn."""

from importlib.metadata import version
from typing import Final

VERSION: Final = version("sojourn-ric")
"""All distributions, programs, images and the chart have it; defined in the root `Cargo.toml`."""
