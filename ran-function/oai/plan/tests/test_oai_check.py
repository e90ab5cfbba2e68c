"""`make oai-check`: which generation a tree is of, and what differs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oai_plan.check import check, main
from oai_plan.declarations import DeclarationError, Headers, canonical
from oai_plan.fit import FLEXRIC, Finding, Fit, Level, OaiError
from oai_plan.shapes import ADAPTER, AdapterError
from oai_trees import oai_tree, write

RLC = "openair2/LAYER2/nr_rlc/nr_rlc_oai_api.h"


def failures(fit: Fit) -> list[Finding]:
    return [finding for finding in fit.findings if finding.level is Level.FAIL]


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("one_cell", "deliver_pdu"), "2026.w11"),
        (("several_cells", "deliver_pdu"), "several cells"),
        (("several_cells", "nr_up"), "nr_up"),
        (("one_cell", "nr_up"), "nr_up, one cell"),
    ],
)
def test_a_fresh_clone_says_its_generation(
    tmp_path: Path, parts: tuple[str, str], name: str
) -> None:
    fit = check(oai_tree(tmp_path / "oai", *parts))
    assert failures(fit) == []
    assert fit.generation == name
    assert [Path(source).stem for source in fit.sources] == list(parts)
    assert fit.status == 0


def test_a_declaration_of_another_shape_is_named_with_its_place(tmp_path: Path) -> None:
    root = oai_tree(tmp_path / "oai")
    header = root / RLC
    change(header, "nr_rlc_update_id(int from_id, int to_id)", "nr_rlc_update_id(int id)")
    line = header.read_text()[: header.read_text().index("nr_rlc_update_id")].count("\n") + 1
    fit = check(root)
    assert (fit.generation, fit.status) == (None, 2)
    (finding,) = failures(fit)
    assert finding.what == "nr_rlc_update_id()"
    assert finding.found == "is bool (int id); expected bool(int, int)"
    assert finding.place == f"{RLC}:{line}"


def test_names_of_types_stand_for_what_they_are(tmp_path: Path) -> None:
    root = oai_tree(tmp_path / "oai")
    change(root / RLC, "bool nr_rlc_update_id(int from_id", "bool nr_rlc_update_id(a_t from_id")
    assert check(root).status == 2
    change(root / "common/platform_types.h", "#endif", "typedef int b_t;\ntypedef b_t a_t;\n#endif")
    assert check(root).status == 0


def test_what_is_absent_is_named(tmp_path: Path) -> None:
    root = oai_tree(tmp_path / "oai")
    change(root / RLC, "void nr_rlc_remove_ue(int ue_id);", "")
    change(root / "mock_entity.h", "bool has_sdap_tx;", "bool sends_sdap;")
    (root / "openair2/F1AP/f1ap_ids.h").unlink()
    found = {(finding.what, finding.found) for finding in failures(check(root))}
    assert {
        ("nr_rlc_remove_ue()", "not declared"),
        ("nr_pdcp_entity_t.has_sdap_tx", "not declared"),
        ("openair2/F1AP/f1ap_ids.h", "no such header"),
    } <= found


def test_a_function_that_no_linker_can_wrap_is_found(tmp_path: Path) -> None:
    root = oai_tree(tmp_path / "oai")
    change(root / "openair2/mock_gnb.c", "nr_rlc_update_id(", "renamed(")
    change(root / "openair2/mock_pdcp.c", "void nr_pdcp_remove_UE(ue_id_t ue) {", "void gone() {")
    found = {finding.what: finding.found for finding in failures(check(root))}
    assert "no linker can wrap it" in found["nr_rlc_update_id()"]
    assert found["nr_pdcp_remove_UE()"] == "defined in no source file"


def test_without_agent_or_flexric_it_fits_with_less(tmp_path: Path) -> None:
    fit = check(oai_tree(tmp_path / "oai", e2=False))
    assert (fit.generation, fit.status) == ("2026.w11", 1)
    assert any("no control" in finding.found for finding in fit.findings)
    root = oai_tree(tmp_path / "oai")
    shutil.rmtree(root / FLEXRIC)
    (finding,) = (each for each in check(root).findings if each.level is Level.WARN)
    assert f"git submodule update --init {FLEXRIC}" in finding.found


@pytest.mark.parametrize("text", [None, "", "project(FlexRIC)\n"])
def test_another_folder_is_refused(
    tmp_path: Path, text: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "other"
    if text is not None:
        write(folder / "CMakeLists.txt", text)
    with pytest.raises(OaiError, match="expected OpenAirInterface's source tree"):
        check(folder)
    assert main([str(folder)]) == 2
    assert f"make oai-check: {folder}: " in capsys.readouterr().err


def test_an_adapter_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(AdapterError, match=r"has no bearer\.c; expected the adapter"):
        check(oai_tree(tmp_path / "oai"), adapter=tmp_path)


def test_output_for_people_and_for_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = oai_tree(tmp_path / "oai", "several_cells")
    assert main([str(root)]) == 0
    shown = capsys.readouterr().out
    assert f"{root}: fits, generation several cells (declarations read)" in shown
    assert main([str(root), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["fits"] is True
    places = {each["what"]: each["file"] for each in found["findings"] if each["line"]}
    assert places["gNB_dlsch_ulsch_scheduler()"] == "openair2/LAYER2/NR_MAC_gNB/mac_proto.h"


def configured(root: Path, folder: Path) -> Path:
    """A build tree as CMake makes it for ninja, in which one source of nr-softmodem is compiled."""
    write(folder / "CMakeCache.txt", f"CMAKE_HOME_DIRECTORY:INTERNAL={root}\n")
    write(
        folder / "build.ninja",
        "build CMakeFiles/nr-softmodem.dir/a.c.o: C_COMPILER__nr-softmodem_ a.c\n"
        f"  DEFINES = -DX=1\n  FLAGS = -std=gnu11 -Werror\n  INCLUDES = -I{root}\n\n",
    )
    return folder


def test_a_configured_tree_is_compiled(tmp_path: Path) -> None:
    if shutil.which("cc") is None or not (Path(sys.prefix) / "include/sojourn_gnb.h").is_file():
        pytest.skip("no cc or no sojourn_gnb.h (make setup) here")
    root = oai_tree(tmp_path / "oai", e2=False)
    build = configured(root, tmp_path / "build")
    fit = check(root, build=build)
    assert fit.generation == "2026.w11"
    compiled = [finding.what for finding in fit.findings if finding.found == "compiles"]
    assert {"mac.c", "bearer.c", "generation/one_cell.c"} <= set(compiled)
    # What no reader of declarations sees.
    declared = "bool nr_rlc_update_id(int from_id, int to_id);"
    other = declared.replace("int from_id", "long from_id")
    change(root / RLC, declared, f"#if 0\n{declared}\n#else\n{other}\n#endif")
    assert check(root).generation is not None
    fit = check(root, build=build)
    assert (fit.generation, fit.status) == (None, 2)
    assert any("nr_rlc_update_id has other arguments" in each.found for each in failures(fit))


def test_a_build_tree_of_another_source_is_refused(tmp_path: Path) -> None:
    build = configured(tmp_path / "elsewhere", tmp_path / "build")
    with pytest.raises(OaiError, match="is no build tree of"):
        check(oai_tree(tmp_path / "oai"), build=build)


def test_the_reader_and_the_compiler_agree_on_shapes(tmp_path: Path) -> None:
    """Each expected shape, with a parameter more, is refused by both."""
    compiler = shutil.which("cc")
    if compiler is None or not (Path(sys.prefix) / "include/sojourn_gnb.h").is_file():
        pytest.skip("no cc or no sojourn_gnb.h (make setup) here")
    root = oai_tree(tmp_path / "oai")
    change(root / RLC, "void nr_rlc_remove_ue(int ue_id);", "void nr_rlc_remove_ue(int, int);")
    assert [finding.what for finding in failures(check(root))] == ["nr_rlc_remove_ue()"]
    done = subprocess.run(
        [
            *(compiler, "-std=gnu11", "-fsyntax-only", f"-I{root}"),
            *(f"-I{Path(sys.prefix) / 'include'}", str(ADAPTER / "rlc.c")),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "another OAI generation: nr_rlc_remove_ue has other arguments" in done.stderr


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("int(const int a, char *b)", "int (int, char*)", True),
        ("void(const int* a)", "void(int*)", False),
        ("int(uint32_t)", "int(unsigned int x)", True),
        ("int(uint16_t)", "int(unsigned int)", False),
        ("void(void (*f)(void *p, int), void *q)", "void(void (*)(void*, int), void*)", True),
        ("void(void (*f)(void *p), void *q)", "void(void (*)(void*, int), void*)", False),
        ("int (*)(entity_t *, char *)", "int (*)(struct entity_s *e, char *b)", True),
        ("int f(int a[4])", "int(int*)", True),
        ("void(void)", "void()", True),
        ("const char *()", "char*()", False),
    ],
)
def test_types_are_compared_by_what_they_are(one: str, other: str, same: bool) -> None:
    names = {"struct entity_s": "entity_t"}
    assert (canonical(one, names) == canonical(other, names)) is same


@given(st.text(alphabet="int void*(),[]struct_t; const.", max_size=80))
def test_text_that_is_no_declaration_is_an_error_in_words(text: str) -> None:
    try:
        assert canonical(text, {})
    except DeclarationError as error:
        assert str(error)


@given(st.text(alphabet="typedef struct x{}; int()*/\n#\"'a", max_size=200))
def test_any_header_can_be_read(text: str) -> None:
    headers = Headers(Path("/none"), ("",))
    headers.texts[Path("/none/a.h")] = text
    headers.function("a")
    headers.member("x", "a")
