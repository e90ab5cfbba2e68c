"""Settings of all Python tests, and fixtures of several distributions."""

import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import settings
from ric.settings import GatewaySettings

# Without a deadline for an example: no test asserts on time.
settings.register_profile("sojourn", deadline=None)
settings.load_profile("sojourn")


@pytest.fixture(autouse=True)
def _same_jitter() -> None:
    """The same back-off delays in every run, so that failures repeat."""
    random.seed(20)


@pytest.fixture
def fast_gateway() -> GatewaySettings:
    """Settings with short delays, for tests with a real network."""
    return GatewaySettings(
        backoff_initial_s=0.01, backoff_max_s=0.05, reconcile_s=0.2, connect_timeout_s=1.0
    )


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CA, and certificates of a server named "gateway" and of a client, made by openssl."""
    where = tmp_path_factory.mktemp("tls")

    def openssl(*arguments: str) -> None:
        try:
            subprocess.run(["openssl", *arguments], cwd=where, check=True, capture_output=True)
        except FileNotFoundError:
            pytest.skip("TLS is not tested: the openssl command is not installed")

    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *curve, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca")
    for name in ("gateway", "xapp"):
        (where / f"{name}.ext").write_text(f"subjectAltName=DNS:{name}\n")
        openssl(
            "req", *curve, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}"
        )
        openssl(
            "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-out", f"{name}.pem", "-extfile", f"{name}.ext",
        )  # fmt: skip
    return where
