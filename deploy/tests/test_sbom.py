"""Bills of materials of images, and the digests of the wheels that go into them."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import platform
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import build_images
import pytest
import sbom
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from install import check

ROOT = Path(__file__).resolve().parents[2]
BUILD = {"version": "0.1.0", "revision": "abc", "source_date_epoch": "1700000000"}
INSIDE: dict[str, Any] = {
    "bomFormat": "CycloneDX",
    "specVersion": "1.5",
    "metadata": {
        "component": {
            "name": "native",
            "version": "1.0",
            "purl": "pkg:cargo/native@1.0?download_url=file://.",
            "components": [
                {"name": "lib", "version": "1.0", "purl": "pkg:cargo/native@1.0#src/lib.rs"}
            ],
        }
    },
    "components": [
        {
            "name": "serde",
            "version": "1.0.200",
            "purl": "pkg:cargo/serde@1.0.200",
            "licenses": [{"expression": "MIT OR Apache-2.0"}],
        }
    ],
}
FILES = {
    "opt/sojourn/lib/python3.11/site-packages/Some_Thing-1.2.dist-info/METADATA": (
        b"Metadata-Version: 2.4\nName: Some.Thing\nVersion: 1.2\nLicense-Expression: MIT\n"
    ),
    "opt/sojourn/lib/python3.11/site-packages/Some_Thing-1.2.dist-info/sboms/n.cyclonedx.json": (
        json.dumps(INSIDE).encode()
    ),
    "opt/sojourn/lib/python3.11/site-packages/other-2.0.dist-info/METADATA": (
        b"Name: other\nVersion: 2.0\nClassifier: License :: OSI Approved :: BSD License\n"
        b"Classifier: License :: OSI Approved :: MIT License\n"
    ),
    "var/lib/dpkg/status.d/libc6": b"Package: libc6\nVersion: 2.36-9\nArchitecture: amd64\n",
    "usr/share/doc/libc6/copyright": b"License: LGPL-2.1\nLicense: GPL-2\n text\n",
    "usr/bin/python3": b"\0",
}


def archive(path: Path, files: dict[str, bytes]) -> Path:
    """An OCI archive of two layers."""
    blobs: dict[str, bytes] = {}

    def blob(content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        return f"sha256:{digest}"

    names = sorted(files)
    layers = [blob(gzip.compress(tar_of({n: files[n] for n in part}))) for part in halves(names)]
    manifest = json.dumps({"layers": [{"digest": layer} for layer in layers]}).encode()
    index = {"manifests": [{"digest": blob(manifest)}]}
    path.write_bytes(tar_of({"index.json": json.dumps(index).encode(), **blobs}))
    return path


def halves(names: list[str]) -> list[list[str]]:
    return [names[::2], names[1::2]]


def tar_of(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def wheel(folder: Path, name: str) -> Path:
    path = folder / name
    distribution, version = name.split("-")[:2]
    with zipfile.ZipFile(path, "w") as made:
        info = f"{distribution}-{version}.dist-info"
        made.writestr(f"{info}/METADATA", f"Name: {distribution}\nVersion: {version}\n")
        made.writestr(f"{info}/sboms/n.cyclonedx.json", json.dumps(INSIDE))
    return path


def components(text: str) -> dict[str, dict[str, Any]]:
    """Components by package URL; the document is valid."""
    problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    assert problem is None, str(problem)[:2000]
    return {each["purl"]: each for each in json.loads(text)["components"]}


def test_an_image_is_described_with_all_that_is_in_it(tmp_path: Path) -> None:
    contents = sbom.of_archive(archive(tmp_path / "x.tar", FILES))
    digests = {"some-thing-1.2": "a" * 64}
    found = components(sbom.describe("x", contents, BUILD, digests=digests))
    assert sorted(found) == [
        "pkg:cargo/native@1.0",
        "pkg:cargo/serde@1.0.200",
        "pkg:deb/debian/libc6@2.36-9?arch=amd64&distro=debian-12",
        "pkg:pypi/other@2.0",
        "pkg:pypi/some-thing@1.2",
    ]
    thing = found["pkg:pypi/some-thing@1.2"]
    assert thing["licenses"][0]["license"]["id"] == "MIT"
    assert thing["hashes"] == [{"alg": "SHA-256", "content": "a" * 64}]
    assert len(found["pkg:pypi/other@2.0"]["licenses"]) == 2
    serde = found["pkg:cargo/serde@1.0.200"]
    assert serde["licenses"][0]["expression"] == "MIT OR Apache-2.0"
    assert serde["properties"] == [{"name": sbom.INSIDE, "value": "Some_Thing"}]
    libc = found["pkg:deb/debian/libc6@2.36-9?arch=amd64&distro=debian-12"]
    assert len(libc["licenses"]) == 2


def test_equal_contents_give_equal_bytes_and_others_another_number(tmp_path: Path) -> None:
    contents = sbom.of_archive(archive(tmp_path / "x.tar", FILES))
    again = sbom.of_archive(archive(tmp_path / "y.tar", dict(reversed(FILES.items()))))
    first = sbom.describe("x", contents, BUILD)
    assert sbom.describe("x", again, BUILD) == first
    del again.status["libc6"]
    other = sbom.describe("x", again, BUILD)
    assert json.loads(other)["serialNumber"] != json.loads(first)["serialNumber"]
    assert json.loads(first)["metadata"]["timestamp"] == "2023-11-14T22:13:20+00:00"


def test_wheels_are_described_without_an_image(tmp_path: Path) -> None:
    wheel(tmp_path, "gnb_lab-0.1.0-cp311-cp311-linux_x86_64.whl")
    found = components(sbom.describe("x", sbom.of_wheels(tmp_path), BUILD))
    assert set(found) == {
        "pkg:pypi/gnb-lab@0.1.0",
        "pkg:cargo/native@1.0",
        "pkg:cargo/serde@1.0.200",
    }


def test_every_crate_of_a_program_is_listed_with_its_licence_and_digest() -> None:
    found = components(sbom.describe("x", sbom.Contents(), BUILD, ["gnb-lab"]))
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    here = f"{platform.machine()}-unknown-linux-gnu"
    command += ["--filter-platform", here, "--manifest-path", "lab/Cargo.toml"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    graph = json.loads(ran.stdout)
    packages = {each["id"]: each for each in graph["packages"]}
    nodes = {each["id"]: each for each in graph["resolve"]["nodes"]}
    waiting = [id_ for id_, package in packages.items() if package["name"] == "gnb-lab"]
    reached: set[str] = set()
    while waiting:
        id_ = waiting.pop()
        if id_ in reached:
            continue
        reached.add(id_)
        waiting += [
            each["pkg"]
            for each in nodes[id_]["deps"]
            if any(kind["kind"] is None for kind in each["dep_kinds"])
            and "proc-macro" not in {k for t in packages[each["pkg"]]["targets"] for k in t["kind"]}
        ]
    names = {f"pkg:cargo/{packages[i]['name']}@{packages[i]['version']}" for i in reached}
    # Features of other members of the workspace are in the metadata alone.
    assert set(found) <= names
    assert {"pkg:cargo/tokio", "pkg:cargo/tonic"} <= {url.partition("@")[0] for url in found}
    assert len(found) > 0.9 * len(names)
    for url, crate in found.items():
        assert crate["licenses"], url
    outside = [crate for url, crate in found.items() if not url.endswith("@0.1.0")]
    assert all(crate["hashes"] for crate in outside)


def test_an_sbom_of_a_wheel_that_is_none_is_named() -> None:
    contents = sbom.Contents()
    path = "a-1.dist-info"
    contents.add(f"{path}/METADATA", io.BytesIO(b"Name: a\nVersion: 1\n"))
    for document in (b"{", b"[]", b'{"components": 5}'):
        contents.sboms = {"a-1": [document]}
        with pytest.raises(sbom.SbomError, match=r"^a-1\.dist-info: an SBOM that is not CycloneDX"):
            sbom.describe("x", contents, BUILD)


def test_only_the_listed_wheels_are_installed(tmp_path: Path) -> None:
    good = wheel(tmp_path, "a-1-py3-none-any.whl")
    build_images.write_sums(tmp_path)
    assert build_images.read_sums(tmp_path / "wheels.sha256") == {
        good.name: build_images.sha256_of(good)
    }
    check(tmp_path)
    extra = wheel(tmp_path, "b-1-py3-none-any.whl")
    with pytest.raises(SystemExit, match=f"{extra.name}: not as wheels.sha256 lists"):
        check(tmp_path)
    extra.unlink()
    good.write_bytes(good.read_bytes() + b"x")
    with pytest.raises(SystemExit, match=f"{good.name}: not as wheels.sha256 lists"):
        check(tmp_path)
    good.unlink()
    with pytest.raises(SystemExit, match=f"{good.name}: not as wheels.sha256 lists"):
        check(tmp_path)


def test_a_wheel_that_changed_since_make_dist_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dist, wheels = tmp_path / "dist", tmp_path / "wheels"
    (dist / "wheels").mkdir(parents=True)
    wheels.mkdir()
    monkeypatch.setattr(build_images, "DIST", dist)
    made = wheel(dist / "wheels", "a-1-py3-none-any.whl")
    (wheels / made.name).write_bytes(made.read_bytes())
    with pytest.raises(build_images.BuildError, match=r"wheels\.sha256: .*; expected the output"):
        build_images.check_own_wheels(wheels)
    (dist / "wheels.sha256").write_text(f"{build_images.sha256_of(made)}  {made.name}\n")
    build_images.check_own_wheels(wheels)
    (wheels / made.name).write_bytes(b"other")
    with pytest.raises(build_images.BuildError, match="not the wheel that"):
        build_images.check_own_wheels(wheels)


def test_the_audit_accepts_what_is_used_and_says_what_it_skipped() -> None:
    command = [sys.executable, str(ROOT / "deploy" / "audit.py")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "bans ok, licenses ok, sources ok" in ran.stdout + ran.stderr
    assert "Python licences ok" in ran.stdout
    assert "make audit ONLINE=1" in ran.stdout
