"""Trees as those of OpenAirInterface, made of the stand-ins of its generations."""

from __future__ import annotations

import shutil
from pathlib import Path

from oai_plan.fit import AGENT, FLEXRIC, FLEXRIC_FILE
from oai_plan.shapes import ADAPTER

READ_WRITE = "openair2/E2AP/RAN_FUNCTION/CUSTOMIZED/ran_func_tc"


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def oai_tree(
    root: Path, scheduler: str = "one_cell", entity: str = "deliver_pdu", *, e2: bool = True
) -> Path:
    """A tree of a generation, by default with the E2 agent and FlexRIC."""
    for part in (scheduler, entity, "include"):
        shutil.copytree(ADAPTER / "mock" / part, root, dirs_exist_ok=True)
    for source in (ADAPTER / "mock").glob("*.c"):
        shutil.copy(source, root / "openair2" / source.name)
    # The stand-in's types where OAI's are.
    shutil.copy(root / "mock_types.h", root / "common" / "platform_types.h")
    write(root / "CMakeLists.txt", "project (OpenAirInterface LANGUAGES C CXX)\n")
    if not e2:
        return root
    write(root / AGENT, "")
    write(root / FLEXRIC / FLEXRIC_FILE, "")
    write(
        root / f"{READ_WRITE}.h",
        "bool read_tc_sm(void*);\nsm_ag_if_ans_t write_ctrl_tc_sm(void const* data);\n",
    )
    write(
        root / f"{READ_WRITE}.c",
        "bool read_tc_sm(void* data)\n{\n  return data;\n}\n"
        "sm_ag_if_ans_t write_ctrl_tc_sm(void const* data)\n{\n  return 0;\n}\n",
    )
    write(
        root / "openair2/E2AP/RAN_FUNCTION/init_ran_func.c",
        "void init(io_t* io)\n{\n  io->read = read_tc_sm;\n  io->write = write_ctrl_tc_sm;\n}\n",
    )
    return root
