"""Images of two architectures in a registry, carried to another, and their signatures."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import socket
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from build_images import IMAGES
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from oci import CONFIG, MANIFEST, LayoutError, join, read_archive, read_blob
from push_images import COMPONENTS, Copier, PushError, mirror, push, values_of, verify
from signatures import SignatureError, private_key, public_key, verify_signature, write_signature

NAMES = ("gnb-lab", "tc-controller")


def archive(path: Path, architecture: str, version: str = "0.1.0") -> Path:
    """An OCI archive with one layer, as buildah writes it."""
    text = io.BytesIO()
    with tarfile.open(fileobj=text, mode="w") as layer:
        layer.addfile(tarfile.TarInfo(f"only-on-{architecture}"), io.BytesIO())
    plain = text.getvalue()
    config = {
        "architecture": architecture,
        "os": "linux",
        "config": {"Labels": {"org.opencontainers.image.version": version}},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(plain).hexdigest()}"]},
    }
    packed = gzip.compress(plain, mtime=0)
    blobs = {"config": json.dumps(config).encode(), "layer": packed}

    def descriptor(content: bytes, media_type: str) -> dict[str, object]:
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        return {"mediaType": media_type, "digest": digest, "size": len(content)}

    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": descriptor(blobs["config"], CONFIG),
        "layers": [descriptor(packed, "application/vnd.oci.image.layer.v1.tar+gzip")],
    }
    blobs["manifest"] = json.dumps(manifest).encode()
    index = {"schemaVersion": 2, "manifests": [descriptor(blobs["manifest"], MANIFEST)]}
    files = {
        f"blobs/sha256/{hashlib.sha256(content).hexdigest()}": content for content in blobs.values()
    }
    files |= {
        "index.json": json.dumps(index).encode(),
        "oci-layout": b'{"imageLayoutVersion": "1.0.0"}',
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """The archives of two machines, one of each architecture."""
    for architecture in ("amd64", "arm64"):
        for name in NAMES:
            archive(tmp_path / architecture / f"{name}.tar", architecture)
    return [tmp_path / "amd64", tmp_path / "arm64"]


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    """Private and public key."""
    key = ec.generate_private_key(ec.SECP256R1())
    private, public = tmp_path / "images.key", tmp_path / "images.pub"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(
        key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    return private, public


@pytest.fixture
def copier() -> Copier:
    if shutil.which("skopeo") is None:
        pytest.skip("images are not copied: skopeo is not on PATH")
    return Copier(plain_http=True)


@pytest.fixture
def registries(tmp_path: Path) -> Iterator[Callable[[], str]]:
    """Starts empty registries on loopback."""
    program = shutil.which("docker-registry") or shutil.which("registry")
    if program is None:
        pytest.skip("no registry to push to: docker-registry is not on PATH")
    running: list[subprocess.Popen[bytes]] = []

    def start() -> str:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        folder = tmp_path / address.replace(":", "-")
        config = {
            "version": "0.1",
            "log": {"level": "error"},
            "storage": {"filesystem": {"rootdirectory": str(folder)}},
            "http": {"addr": address},
        }
        file = tmp_path / f"{folder.name}.yaml"
        file.write_text(yaml.safe_dump(config))
        running.append(subprocess.Popen([program, "serve", str(file)], stderr=subprocess.DEVNULL))
        host, port = address.split(":")
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex((host, int(port))) == 0:
                    return address
            time.sleep(0.1)
        raise AssertionError(f"{program} does not listen at {address}")

    yield start
    for each in running:
        each.terminate()
        each.wait(10)


def test_images_of_two_architectures_reach_a_network_without_a_connection(
    copier: Copier,
    registries: Callable[[], str],
    folders: list[Path],
    keys: tuple[Path, Path],
    tmp_path: Path,
) -> None:
    private, public = keys
    first, isolated = registries(), registries()
    digests = push(copier, first, folders, private, NAMES)
    carried = f"dir:{tmp_path / 'carried'}"
    assert mirror(copier, first, carried, "0.1.0", NAMES) == 2
    assert mirror(copier, carried, isolated, "0.1.0", NAMES) == 2
    for place in (first, carried, isolated):
        verify(copier, place, public, "0.1.0", NAMES)
    for name in NAMES:
        assert copier.digest(f"docker://{isolated}/sojourn/{name}:0.1.0") == digests[name]
    # A node pulls by digest, and gets the image of its architecture.
    pulled = tmp_path / "pulled"
    image = f"docker://{isolated}/sojourn/gnb-lab@{digests['gnb-lab']}"
    subprocess.run(
        ["skopeo", "--override-arch=arm64", "copy", "--quiet", "--src-tls-verify=false", image,
         f"dir:{pulled}"],
        check=True,
    )  # fmt: skip
    layer = json.loads((pulled / "manifest.json").read_text())["layers"][0]["digest"]
    with tarfile.open(pulled / layer.removeprefix("sha256:")) as files:
        assert files.getnames() == ["only-on-arm64"]


def test_an_unsigned_image_and_one_of_another_key_are_refused(
    copier: Copier, registries: Callable[[], str], folders: list[Path], keys: tuple[Path, Path]
) -> None:
    private, public = keys
    registry = registries()
    push(copier, registry, folders, None, NAMES[:1])
    with pytest.raises(SignatureError, match=r"gnb-lab@sha256:.*: not signed"):
        verify(copier, registry, public, "0.1.0", NAMES[:1])
    push(copier, registry, folders, private, NAMES[:1])
    verify(copier, registry, public, "0.1.0", NAMES[:1])
    other = public.with_name("other.pub")
    other.write_bytes(
        ec.generate_private_key(ec.SECP256R1())
        .public_key()
        .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    with pytest.raises(SignatureError, match="no signature of this key"):
        verify(copier, registry, other, "0.1.0", NAMES[:1])


def test_a_signature_is_of_one_digest_and_its_payload(
    tmp_path: Path, keys: tuple[Path, Path]
) -> None:
    private, public = (private_key(keys[0]), public_key(keys[1]))
    digest, other = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"
    write_signature(tmp_path / "s", digest, private)
    verify_signature(tmp_path / "s", digest, public)
    with pytest.raises(SignatureError, match="no signature of this key"):
        verify_signature(tmp_path / "s", other, public)
    (payload,) = (
        path
        for path in (tmp_path / "s/blobs/sha256").iterdir()
        if path.read_bytes().startswith(b'{"critical"')
    )
    payload.write_bytes(payload.read_bytes().replace(b"a" * 64, b"b" * 64))
    with pytest.raises(SignatureError, match="other content"):
        verify_signature(tmp_path / "s", other, public)


def test_a_registry_that_is_not_there_is_an_error(copier: Copier, folders: list[Path]) -> None:
    with pytest.raises(PushError, match="connection refused"):
        push(copier, "127.0.0.1:1", folders, None, NAMES)


def test_an_index_has_each_architecture_once(folders: list[Path], tmp_path: Path) -> None:
    archives = [read_archive(folder / "gnb-lab.tar") for folder in folders]
    digest = join(archives, "0.1.0", tmp_path / "layout")
    index = json.loads(read_blob(tmp_path / "layout", digest))
    assert [each["platform"]["architecture"] for each in index["manifests"]] == ["amd64", "arm64"]
    assert join(reversed(archives), "0.1.0", tmp_path / "again") == digest
    with pytest.raises(LayoutError, match=r"linux/amd64, as .*; expected one archive of each"):
        join([archives[0], read_archive(folders[0] / "tc-controller.tar")], "0", tmp_path / "x")


def test_a_file_that_is_no_archive_is_named(tmp_path: Path) -> None:
    wrong = tmp_path / "gnb-lab.tar"
    wrong.write_text("no tar")
    with pytest.raises(LayoutError, match=r"gnb-lab\.tar: .*; expected an OCI archive"):
        read_archive(wrong)


def test_values_pin_every_image_of_the_chart() -> None:
    assert COMPONENTS.keys() == {image.name for image in IMAGES} | {"flexric-sdk"}
    digest = f"sha256:{'0' * 64}"
    pushed = dict.fromkeys(("flexric-bridge", "flexric-sdk", "nearrt-ric"), digest)
    assert values_of("r.example:5000", pushed) == {
        "image": {"registry": "r.example:5000"},
        "flexricBridge": {"image": {"digest": digest}, "sdk": {"image": {"digest": digest}}},
    }
