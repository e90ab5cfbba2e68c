"""Property tests of what is read from models, data sets, traces and runs of training."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import shutil
import sqlite3
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from parser_peers import Peer, each, hold
from rlc_dataset.channels.any_format import load_trace
from rlc_dataset.channels.colosseum import load_colosseum
from rlc_dataset.channels.mahimahi import load_mahimahi
from rlc_dataset.channels.rates import RateColumns, load_rates
from rlc_dataset.channels.trace import ChannelTrace
from rlc_dataset.channels.ucc import load_ucc
from rlc_dataset.errors import DatasetError
from rlc_dataset.foreign import read_reports
from rlc_dataset.provenance import parse_provenance
from rlc_dataset.reader import Run
from rlc_dataset.recording import Recording
from rlc_forecaster.settings import DEFAULT_MODEL
from rlc_model import MinMaxScaler
from rlc_model.contract import MANIFEST, MODEL, read_contract
from rlc_model.errors import ContractError
from rlc_model.graph import check_graph
from rlc_model.manifest import parse_manifest
from rlc_model.signature import read_signer, read_trusted_keys
from rlc_train.backtest import SUMS, Losses
from rlc_train.candidate import DESCRIPTION, GRAPH, Candidate
from rlc_train.errors import TrainError
from rlc_train.export.check import Comparison
from rlc_train.export.runner import Timing
from rlc_train.horizon import Layout
from rlc_train.judging.row import Row
from rlc_train.loss_cache import LossCache
from rlc_train.lstm import checkpoint
from rlc_train.lstm.checkpoint import Progress
from rlc_train.results import read as read_results
from rlc_train.retrain.state import RoundState, WorkDirectory
from rlc_train.rundir import RunDirectory
from rlc_train.settings import load
from rlc_train.tuning.space import read as read_space

SAMPLE = Path(__file__).parent.parent / "datasets" / "sample"
RUN = next(SAMPLE.glob("*/*/*/*.parquet"))


def written(content: bytes, path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


MANIFEST_JSON = json.loads((DEFAULT_MODEL / MANIFEST).read_bytes())
CHECKSUMS = (DEFAULT_MODEL / "SHA256SUMS").read_bytes()
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PRIVATE = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
PUBLIC = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def contract(data: bytes, path: Path) -> Any:
    """A model directory whose digests are the input."""
    folder = path.with_name("model")
    if not folder.exists():
        shutil.copytree(DEFAULT_MODEL, folder)
    (folder / "SHA256SUMS").write_bytes(data)
    return read_contract(folder)


MODELS = [
    Peer(
        "rlc_model.manifest:parse_manifest",
        lambda data, _: parse_manifest(data),
        ContractError,
        r"^manifest\.json: ",
        [MANIFEST_JSON],
        write=lambda manifest: manifest.to_json(),
        words=[b'"quantiles"', b"0.5"],
    ),
    Peer(
        "rlc_model.contract:read_contract",
        contract,
        ContractError,
        r"^(SHA256SUMS|manifest\.json|model\.onnx)",
        [CHECKSUMS],
        words=[b"  ", b"0" * 64, MODEL.encode()],
        also=["rlc_model.contract:read_bounded", "rlc_model.contract:_parse_checksums"],
    ),
    Peer(
        "rlc_model.graph:check_graph",
        lambda data, _: check_graph(data),
        ContractError,
        r"^model\.onnx",
        [(DEFAULT_MODEL / MODEL).read_bytes()],
        also=["rlc_model.graph:_check_finite"],
    ),
    Peer(
        "rlc_model.signature:read_trusted_keys",
        lambda data, path: read_trusted_keys(written(data, path)),
        ContractError,
        "^(/.*/)?input: ",
        [PUBLIC, PUBLIC + PUBLIC],
        write=lambda keys: b"".join(
            key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo) for key in keys
        ),
        words=[b"-----END PUBLIC KEY-----", b"-----BEGIN PUBLIC KEY-----\n"],
    ),
    Peer(
        "rlc_model.signature:read_signer",
        lambda data, path: read_signer(written(data, path))(b"x"),
        ContractError,
        "^(/.*/)?input: ",
        [PRIVATE],
        # A changed key is another key.
        check=lambda signature: len(signature) == 64 or pytest.fail("no signature"),
    ),
]


def table_of(data: bytes, path: Path) -> Any:
    return Run.open(written(data, path)).table()


def reports_of(data: bytes, path: Path) -> Any:
    """All reports of a recording, in its folder."""
    recording = Recording.open(written(data, path))
    return [list(recording.pieces(bearer, 1_000)) for bearer in recording.bearers]


def small_run() -> bytes:
    """A run of few rows, so that a change of a byte is often one of the metadata."""
    table = pq.read_table(RUN, partitioning=None).slice(0, 40)
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def foreign_files() -> list[bytes]:
    """The rows of a small run as CSV and as a database."""
    table = pq.read_table(io.BytesIO(small_run()))
    text = io.BytesIO()
    pyarrow.csv.write_csv(table, text)
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE TABLE RLC_bearer({', '.join(table.column_names)})")
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        marks = ", ".join("?" * table.num_columns)
        database.executemany(f"INSERT INTO RLC_bearer VALUES ({marks})", rows)
        database.commit()
        return [text.getvalue(), database.serialize()]


def whole(trace: ChannelTrace) -> None:
    """Times of a session increase by the period, and each quantity has a value for each."""
    assert len(trace) > 0
    steps = np.diff(trace.time_us)[np.diff(trace.session) == 0]
    assert np.all(steps == trace.period_us)
    assert all(len(values) == len(trace) for values in trace.quantities.values())


UCC = b"""Timestamp,Speed,SNR,CQI,DL_bitrate,State
2019.12.16_13.40.04,0,9,10,0,I
2019.12.16_13.40.05,0,-,11,125,D
2019.12.16_13.42.05,0,9.5,11,125,D
"""
COLOSSEUM = b"""Timestamp,RNTI,dl_mcs,dl_n_samples,dl_buffer [bytes],tx_brate downlink [Mbps],\
dl_cqi,,sum_requested_prbs,sum_granted_prbs
1000,71,9.5,4,1500,2.5,10.5,,7,6
1250,71,9.5,0,1500,2.5,10.5,,7,6
"""
PROVENANCE = Run.open(RUN).provenance
DATA = [
    Peer(
        "rlc_dataset.reader:Run.open",
        lambda data, path: Run.open(written(data, path)).provenance,
        DatasetError,
        "^/.*/input",
        [RUN.read_bytes(), small_run()],
        also=["rlc_dataset.reader:Run.table"],
    ),
    Peer(
        "rlc_dataset.reader:Run.table",
        table_of,
        DatasetError,
        "^/.*/input",
        [RUN.read_bytes()],
    ),
    Peer(
        "rlc_dataset.recording:Recording._batches",
        reports_of,
        DatasetError,
        "^/.*/input",
        [RUN.read_bytes(), small_run()],
        also=["rlc_dataset.recording:Recording.open"],
    ),
    Peer(
        "rlc_dataset.foreign:read_reports",
        lambda data, path: read_reports(written(data, path), {}),
        DatasetError,
        "^/.*/input",
        [small_run(), *foreign_files()],
        also=["rlc_dataset.foreign:_batches", "rlc_dataset.foreign:_of_sqlite"],
        words=[b"RLC_bearer", b"\n,,,,,\n", b"1e300"],
    ),
    Peer(
        "rlc_dataset.provenance:parse_provenance",
        lambda data, _: parse_provenance(data, "input"),
        DatasetError,
        "^input, column provenance",
        [PROVENANCE.model_dump(mode="json")],
        write=lambda found: found.model_dump_json().encode(),
    ),
    Peer(
        "rlc_dataset.channels.mahimahi:load_mahimahi",
        lambda data, path: load_mahimahi(written(data, path)),
        DatasetError,
        "^/.*/input",
        [b"0\n1\n1\n4\n", b"1\r\n2\r\n", b"\xef\xbb\xbf7\n"],
        check=whole,
        words=[b"86400000\n", b"500000\n", "²\n".encode()],
        also=["rlc_dataset.channels.text:lines", "rlc_dataset.channels.text:open_text"],
    ),
    Peer(
        "rlc_dataset.channels.rates:load_rates",
        lambda data, path: load_rates(written(data, path), RateColumns("a", "b.c", "bit/s")),
        DatasetError,
        "^/.*/input",
        [
            b"a,b.c\n1,5\n2,6\n3.5,7\n",
            b"b.c,a\n5,2021-12-15T16:04:00Z\n6,2021-12-15T16:04:01Z\n",
            b'{"a": [1, 2, 3], "b": [{"c": 1}, {"c": 2}, {"c": null}]}',
        ],
        check=whole,
        words=[b"1e300", b"null", b"[]", b"Wed Dec 15 16:04:00 UTC 2021", b"0.0000001"],
        also=[
            "rlc_dataset.channels.text:read_json",
            "rlc_dataset.channels.rates:_date",
            "rlc_dataset.channels.rates:_seconds",
            "rlc_dataset.channels.rates:_of_json",
        ],
    ),
    Peer(
        "rlc_dataset.channels.text:lines",
        lambda data, path: load_mahimahi(written(data, path.with_suffix(".gz"))),
        DatasetError,
        r"^/.*/input\.gz",
        [gzip.compress(b"0\n1\n1\n4\n", mtime=0)],
        check=whole,
    ),
    Peer(
        "rlc_dataset.channels.ucc:load_ucc",
        lambda data, path: load_ucc(written(data, path)),
        DatasetError,
        "^/.*/input",
        [UCC],
        check=whole,
        words=[b"9999.12.31_23.59.59", b"-", b"CQI", b'"'],
        also=["rlc_dataset.channels.text:rows", "rlc_dataset.channels.ucc:_second"],
    ),
    Peer(
        "rlc_dataset.channels.any_format:load_trace",
        lambda data, path: load_trace(written(data, path)),
        DatasetError,
        "^/.*/input",
        [b"0\n1\n1\n4\n", UCC, COLOSSEUM],
        check=whole,
        words=[b"DL_bitrate", b"dl_mcs", b'"'],
    ),
    Peer(
        "rlc_dataset.channels.colosseum:load_colosseum",
        lambda data, path: load_colosseum(written(data, path)),
        DatasetError,
        "^/.*/input",
        [COLOSSEUM],
        check=whole,
        words=[b"1e14", b"RNTI", b'"'],
    ),
]

CANDIDATE = Candidate(
    "lstm",
    b"graph",
    8,
    500,
    MinMaxScaler(np.zeros(3, np.float32), np.ones(3, np.float32)),
    Layout(),
    Comparison(100, 1e-6, 1e-6),
    [Timing(1, 40.0, 60.0)],
)


def candidate(data: bytes, path: Path) -> Any:
    folder = path.with_name("candidate")
    folder.mkdir(exist_ok=True)
    (folder / GRAPH).write_bytes(b"graph")
    (folder / DESCRIPTION).write_bytes(data)
    return Candidate.load(folder)


def description(found: Candidate, folder: Path) -> bytes:
    found.save(folder)
    return (folder / DESCRIPTION).read_bytes()


def rundir(data: bytes, path: Path) -> Any:
    path.with_name("settings.json").write_bytes(data)
    return RunDirectory(path.parent).settings()


def round_state(data: bytes, path: Path) -> Any:
    """A round of retraining that goes on."""
    (path.parent / "state.json").write_bytes(data)
    found = WorkDirectory(path.parent)._load()
    assert found is not None
    return found


def seen(data: bytes, path: Path) -> str:
    """A file of a round."""
    folder = path.parent / "round-0001"
    folder.mkdir(exist_ok=True)
    return written(data, folder / path.name).name


RESULT = Row("m:1", "a", "a", "paced", "q", 11_000, 10, 1.5, 2.0, 0.75, 0.7, 0.8, 0.8, 0.8, 0.7)
TRAINING = [
    Peer(
        "rlc_train.settings:load",
        lambda data, path: load(written(data, path)),
        TrainError,
        "^(/.*/)?input: ",
        [b"fit: {epochs: 3}\n", load(None).model_dump(mode="json")],
        write=lambda found: found.model_dump_json().encode(),
    ),
    Peer(
        "rlc_train.tuning.space:read",
        lambda data, path: read_space(written(data, path)),
        TrainError,
        "^(/.*/)?input: |^(/.*/)?input$",
        [b"network.units: {int: [1, 8], step: 2}\n", b"fit.learning_rate: {choice: [0.1, 0.2]}\n"],
        write=lambda found: json.dumps(
            {name: one.model_dump(by_alias=True, exclude_none=True) for name, one in found.items()}
        ).encode(),
    ),
    Peer(
        "rlc_train.rundir:RunDirectory.settings",
        rundir,
        TrainError,
        r"^/.*/settings\.json: ",
        [load(None).model_dump(mode="json")],
        write=lambda found: found.model_dump_json().encode(),
        also=["rlc_train.rundir:RunDirectory.read"],
    ),
    Peer(
        "rlc_train.retrain.state:WorkDirectory._load",
        round_state,
        TrainError,
        r"^/.*/state\.json: ",
        [RoundState(number=2, stage="gate", known=("cell=a",)).model_dump(mode="json")],
        write=lambda found: found.model_dump_json().encode(),
    ),
    Peer(
        "rlc_train.retrain.state:WorkDirectory.read",
        lambda data, path: WorkDirectory(path.parent).read(RoundState(), seen(data, path)),
        TrainError,
        "^/.*/round-0001/input: cannot be read: ",
        [["cell=a/mobility=b/run=c"]],
        write=lambda found: json.dumps(found).encode(),
    ),
    Peer(
        "rlc_train.results:read",
        lambda data, path: read_results(written(data, path)),
        TrainError,
        "^/.*/input: ",
        [[asdict(RESULT), asdict(RESULT) | {"ratio": None}]],
        write=lambda table: json.dumps(table.to_pylist()).encode(),
    ),
    Peer(
        "rlc_train.candidate:Candidate.load",
        candidate,
        TrainError,
        "^/.*/candidate: is not a candidate: ",
        [],
    ),
]

LOSSES = Losses(
    **{name: np.ones((2, 1, 1)) for name in SUMS},
    scenario=["a", "b"],
    radio=["c", "d"],
    bearer_kind=["paced", "unpaced"],
)


def cached(data: bytes, path: Path) -> Any:
    written(data, path.with_name("test") / "lstm.npz")
    return LossCache(path.parent, {"a": 1}).get("test", "lstm")


def cache_file() -> bytes:
    with TemporaryDirectory() as folder:
        LossCache(Path(folder), {"a": 1}).put("test", "lstm", LOSSES)
        return (Path(folder) / "test" / "lstm.npz").read_bytes()


class Variable:
    """A variable of a model."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def assign(self, value: Any) -> None:
        self.value = value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.value, dtype)


class Holder:
    """A model, or an optimiser."""

    def __init__(self) -> None:
        self.variables = [Variable(np.zeros(3, np.float32))]


def checkpoint_file() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "c.npz"
        best = [np.ones(3, np.float32)]
        checkpoint.save(path, "f", Progress(1, [(0.5, 0.6)], 0, best, 1.5), Holder(), Holder())
        return path.read_bytes()


def progress(data: bytes, path: Path) -> Any:
    """A checkpoint whose numbers are the input."""
    zero = np.zeros(3, np.float32)
    numbers = np.frombuffer(data, np.uint8)
    archive = path.with_suffix(".npz")
    np.savez(archive, progress=numbers, model_0=zero, optimizer_0=zero, best_0=zero)
    return checkpoint.load(archive, "f", Holder(), Holder())


ARCHIVES = [
    Peer(
        "rlc_train.lstm.checkpoint:load",
        progress,
        TrainError,
        r"^/.*/input\.npz: is ",
        [
            {
                "fingerprint": "f",
                "epoch": 1,
                "curve": [[0.5, 0.6]],
                "best_epoch": 0,
                "best": 1,
                "seconds": 1.5,
            }
        ],
        check=lambda found: isinstance(found.epoch, int) or pytest.fail("no epoch"),
    ),
    Peer(
        "rlc_train.loss_cache:LossCache.get",
        cached,
        (),
        "",
        [cache_file()],
        check=lambda found: found is None or isinstance(found, Losses),
    ),
    Peer(
        "rlc_train.lstm.checkpoint:load",
        lambda data, path: checkpoint.load(written(data, path), "f", Holder(), Holder()),
        TrainError,
        "^/.*/input: is ",
        [checkpoint_file()],
        check=lambda found: isinstance(found, Progress) or pytest.fail("none"),
    ),
]


@each([*MODELS, *DATA, *TRAINING, *ARCHIVES])
def test_any_input_ends_in_a_value_or_a_typed_error(peer: Peer, tmp_path: Path) -> None:
    if not peer.seeds:
        folder = tmp_path / "saved"
        seed = json.loads(description(CANDIDATE, folder))
        peer = replace(peer, seeds=[seed], write=lambda value: description(value, folder))
    hold(peer, tmp_path)
