"""A missing optional library is named with the command that installs it."""

from __future__ import annotations

from importlib.metadata import metadata

import pytest
from rlc_train.errors import DISTRIBUTION, TrainError, need


@pytest.mark.parametrize("extra", ["tensorflow", "baselines", "mlflow"])
def test_the_command_names_a_distribution_that_has_the_extra(extra: str) -> None:
    with pytest.raises(TrainError) as error:
        need("no_such_library.part", extra)
    message = str(error.value)
    assert message.startswith("no_such_library: is not installed")
    assert message.endswith(f'or pip install "sojourn-training[{extra}]"')
    assert extra in metadata(DISTRIBUTION).get_all("Provides-Extra", [])
