"""Files are read up to a bound, and regular files only; YAML ends in values or in `YamlError`."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field, ValidationError
from ric.access import read_token
from ric.bounded_yaml import MAX_NODES, YamlError, parse_yaml
from ric.endpoint_settings import read_pem
from ric.errors import SettingsError
from ric.explain import explain_validation_error
from ric.files import UnreadableFile, read_file
from ric.settings import XAppSettings, load_settings
from ric.state_file import StateError, read_document
from sojourn_serving import SetupError, check_access_file


def test_a_file_of_the_bound_is_read_and_a_longer_one_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 1000)
    assert read_file(path, 1000) == b"x" * 1000
    with pytest.raises(UnreadableFile, match="file: larger than 999 bytes; expected at most that"):
        read_file(path, 999)


def test_files_of_size_zero_that_have_content_are_bounded() -> None:
    path = Path("/proc/self/status")
    if not path.exists():
        pytest.skip("no /proc here")
    assert path.stat().st_size == 0
    with pytest.raises(UnreadableFile, match="larger than 10 bytes"):
        read_file(path, 10)


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    fifo, bound = tmp_path / "fifo", tmp_path / "socket"
    os.mkfifo(fifo)
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(bound))
        for path, found in (
            (fifo, "a FIFO"),
            (tmp_path, "a directory"),
            (Path("/dev/zero"), "a device"),
            (bound, "expected a readable file"),
        ):
            with pytest.raises(UnreadableFile, match=found):
                read_file(path, 10)
    link = tmp_path / "link"
    link.symlink_to(fifo)
    for read in (
        lambda: load_settings(XAppSettings, prog="x", arguments=["--config", str(link)]),
        lambda: check_access_file(link),
        lambda: read_token(link, "place"),
        lambda: read_pem("server.key_file", link),
        lambda: read_document(link),
    ):
        errors = (SettingsError, SetupError, StateError)
        with pytest.raises(errors, match="a FIFO; expected a regular file"):
            read()


def test_an_absent_file_differs_from_an_unreadable_one(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="No such file") as caught:
        read_file(tmp_path / "none", 10)
    assert caught.value.missing
    with pytest.raises(UnreadableFile, match="null byte") as caught:
        read_file(Path("a\0b"), 10)
    assert not caught.value.missing


def test_a_file_that_grows_while_it_is_read_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "grows"
    path.write_bytes(b"x" * (1 << 20))
    stop = threading.Event()

    def grow() -> None:
        with path.open("ab", buffering=0) as file:
            while not stop.is_set() and file.tell() < 64 << 20:
                file.write(b"x" * (1 << 16))

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        for _ in range(20):
            try:
                assert len(read_file(path, 2 << 20)) <= 2 << 20
            except UnreadableFile as error:
                assert "larger than" in str(error)
    finally:
        stop.set()
        writer.join()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# nothing\n", None),
        ("{a: ~, b: null, c: }", {"a": None, "b": None, "c": None}),
        ("[true, False, on, yes, off]", [True, False, "on", "yes", "off"]),
        ("[17, 017, 0o17, 0x1f, -3, 1_000]", [17, 17, 15, 31, -3, "1_000"]),
        ("[1.5, .5, 1e3, 1., '1']", [1.5, 0.5, 1000.0, 1.0, "1"]),
        ("[59:59:59, 12:30, 2026-11-25, 2020-13-45]",
         ["59:59:59", "12:30", "2026-11-25", "2020-13-45"]),
        ("{1: a, true: b, ~: c}", {"1": "a", "true": "b", "~": "c"}),
        ("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}", {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 3}}),
        ("{'<<': 1}", {"<<": 1}),
        ("a: |\n  x\n  y\n", {"a": "x\ny\n"}),
    ],
)  # fmt: skip
def test_scalars_are_those_of_yaml_1_2(text: str, value: object) -> None:
    assert parse_yaml(text) == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: .inf", "line 1: .inf; expected a finite number"),
        ("a: 1e999", "line 1: 1e999; expected a finite number"),
        ("a: " + "9" * 100_000, "line 1: an integer of 100000 characters; expected at most 40"),
        ("a: 0x" + "f" * 100_000, "line 1: an integer of 100002 characters; expected at most 40"),
        ("a: !!timestamp x", "line 1: tag tag:yaml.org,2002:timestamp; expected none"),
        ("a: !!binary =", "line 1: tag tag:yaml.org,2002:binary; expected none"),
        ("a: !!bool x", "line 1: tag tag:yaml.org,2002:bool; expected none"),
        ("a: 1\n\na: 2", "line 3: key 'a' given twice; expected one"),
        ("[1]: 2", "line 1: a key that is no scalar; expected text"),
        ("a: 1\n---\nb: 2", "line 2: a second document; expected one"),
        ("[" * 100_000, "line 1: nested deeper than 32; expected at most that"),
        ("a: &a [*a]", "line 1: alias *a; expected an anchor that ends before it"),
        ("a: *b", "line 1: alias *b; expected an anchor that ends before it"),
        ("<<: 3", "line 1: << of something else; expected a mapping"),
        ("a: \0", "not YAML: "),
        ("a: [", "line 2: not YAML: "),
    ],
)
def test_other_yaml_is_refused_with_the_line(text: str, problem: str) -> None:
    with pytest.raises(YamlError) as caught:
        parse_yaml(text)
    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize("merge", ["", "<<: "])
def test_aliases_count_as_what_they_stand_for(merge: str) -> None:
    inner = "{{{}: {}}}" if merge else "[{}]"
    lines = ["a0: &a0 {x: 1}" if merge else "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    for level in range(1, 12):
        names = ", ".join(f"*a{level - 1}" for _ in range(9))
        body = inner.format("<<", f"[{names}]") if merge else inner.format(names)
        lines.append(f"a{level}: &a{level} {body}")
    with pytest.raises(YamlError, match=f"more than {MAX_NODES} nodes, aliases expanded"):
        parse_yaml("\n".join(lines))


def test_a_million_bytes_of_elements_end_at_the_bound() -> None:
    with pytest.raises(YamlError, match=f"more than {MAX_NODES} nodes"):
        parse_yaml("rules: [" + "1, " * 330_000 + "]")


_WORDS = (
    "59:59:59 59:59:59.5 2026-11-25 2020-13-45T99:99:99 017 0o8 0x 0xg on off yes NO ~ .inf -.Inf"
    " .NaN 1e999 1_000 -0 +1 '' !!int !!float !!timestamp !!bool !!set !!binary !!null ! << *a &a"
    " {} [] ? - : | > % @ ` --- ... 99999999999999999999999999999999999999999999"
)
_SCALARS = st.sampled_from(_WORDS.split())
_TEXT = st.lists(
    st.one_of(
        _SCALARS,
        st.sampled_from([" ", "\n", "\n  ", ": ", ", ", "- ", "[", "]", "{", "}", "? ", "#", "\t"]),
        st.text(max_size=5),
    ),
    max_size=30,
).map("".join)


class Given(XAppSettings):
    """Settings of the property test."""

    numbers: tuple[int, ...] = ()
    names: dict[str, str] = Field(default_factory=dict)


@settings(max_examples=400, deadline=None)
@given(_TEXT)
def test_any_text_ends_in_a_value_or_a_typed_error(text: str) -> None:
    try:
        value = parse_yaml(text)
    except YamlError as error:
        assert str(error)
        return
    documents = [value, {"numbers": value}, {"names": value}, {"gateway": value}, {"http": value}]
    for document in documents:
        try:
            Given.model_validate(document)
        except ValidationError as error:
            assert explain_validation_error(error, "file", Given, document)
