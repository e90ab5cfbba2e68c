"""The C interface as a gNB's engineer uses it: compiled, run, and run under valgrind."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import e2sm_tc
import pytest

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "ran-function" / "c-abi" / "examples"
PREFIX = Path(sys.prefix)
WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g")


def compiler(name: str = "cc") -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name} here, which compiles the example")
    return found


def build(source: Path, program: Path) -> Path:
    library = PREFIX / "lib" / "libtc_rf_c.a"
    command = [compiler(), *WARNINGS, "-I", str(PREFIX / "include"), str(source), str(library)]
    subprocess.run([*command, "-o", str(program), "-lpthread", "-ldl", "-lm"], check=True)
    return program


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(EXAMPLES / "bearer.c", tmp_path_factory.mktemp("c") / "bearer")


def control(message: Mapping[str, object], style: int) -> list[str]:
    """Header and message of a RIC control in hex."""
    header = e2sm_tc.encode("control-header", {"style": style, "correlation_id": 7})
    return [header.hex(), e2sm_tc.encode("control", message).hex()]


def run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def slowest_ms(output: str, phase: str) -> float:
    found = re.search(rf"^{phase}: slowest sparse packet ([\d.]+) ms$", output, re.MULTILINE)
    assert found, output
    return float(found[1])


def outcome_of(output: str) -> dict[str, object]:
    found = re.search(r"^outcome: ([0-9a-f]+)$", output, re.MULTILINE)
    assert found, output
    value: dict[str, object] = e2sm_tc.decode("control-outcome", bytes.fromhex(found[1]))
    return value


def test_fq_codel_frees_the_sparse_flow_and_every_packet_is_accounted_for(example: Path) -> None:
    output = run([str(example)])
    assert slowest_ms(output, "transparent") > 100
    assert slowest_ms(output, "fq_codel") < 10
    counts = re.search(
        r"sent (\d+) = delivered (\d+) \+ dropped (\d+) \+ left in the RLC (\d+)", output
    )
    assert counts, output
    sent, *ends = map(int, counts.groups())
    assert sent == sum(ends)
    assert re.search(r"taken back from the RLC: [1-9]\d* packets", output)
    assert "a call from a callback: a callback must not call back" in output
    assert 'no template of that name: "no_such"; expected one of transparent' in output


def test_a_control_of_the_service_model_is_executed(example: Path) -> None:
    bearer = {"ue": {"rnti": 0x4601}, "drb": 1}
    safe = {
        "transaction": {
            "bearer": bearer,
            "expected_revision": 2,
            "lease_ms": None,
            "dry_run": False,
            "change": "safe",
        }
    }
    output = run([str(example), *control(safe, 1)])
    assert outcome_of(output) == {"accepted": {"revision": 3, "lease_ms": None}}
    # Without traffic control the greedy flow's packets are in the way again.
    assert slowest_ms(output, "after the control") > 100


#: Sets the node default of its arguments, then adds bearers, and prints the status of each.
SET_UP = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tc_rf.h"

static void forward(void *context, tc_rf_bearer_t bearer, void *sdu)
{
    (void)context, (void)bearer, (void)sdu;
}

static void dropped(void *context, tc_rf_bearer_t bearer, void *sdu, tc_rf_drop_t reason,
                    uint64_t now_us)
{
    (void)context, (void)bearer, (void)sdu, (void)reason, (void)now_us;
}

static void event(void *context, tc_rf_bearer_t bearer, tc_rf_event_t event)
{
    (void)context;
    if (event == TC_RF_EVENT_PIPELINE_CHANGED)
        printf("changed: %d\n", bearer.drb);
}

static size_t unhex(const char *hex, uint8_t *out, size_t room)
{
    size_t length = strlen(hex) / 2;
    if (length > room)
        abort();
    for (size_t i = 0; i < length; i++) {
        unsigned byte;
        if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
            abort();
        out[i] = (uint8_t)byte;
    }
    return length;
}

static void show(const char *what, tc_rf_bytes_t bytes)
{
    printf("%s: ", what);
    for (size_t i = 0; i < bytes.length; i++)
        printf("%02x", bytes.data[i]);
    printf("\n");
}

int main(int argc, char **argv)
{
    static uint8_t header[64], message[65536];
    const tc_rf_callbacks_t callbacks = {.forward = forward, .dropped = dropped, .event = event};
    tc_rf_t *tc;
    if (argc != 3 || tc_rf_create(&callbacks, 1, &tc) != TC_RF_RESULT_OK)
        return 1;
    const tc_rf_bytes_t h = {header, unhex(argv[1], header, sizeof header)};
    const tc_rf_bytes_t m = {message, unhex(argv[2], message, sizeof message)};
    tc_rf_bytes_t bytes;
    if (tc_rf_control(tc, h, m, 1000, &bytes) != TC_RF_RESULT_OK)
        return 2;
    show("outcome", bytes);
    const uint8_t five_qis[] = {9};
    const tc_rf_bearer_qos_t qos = {
        .five_qis = five_qis, .five_qi_count = 1, .has_s_nssai = true, .sst = 1};
    for (uint8_t drb = 1; drb <= 3; drb++) {
        const tc_rf_bearer_t bearer = {17, drb};
        const uint64_t now_us = drb == 3 ? 2001000 : 2000;
        if (tc_rf_add_bearer(tc, bearer, drb == 2 ? NULL : &qos, now_us) != TC_RF_RESULT_OK)
            return 3;
        if (tc_rf_status_report(tc, bearer, now_us, &bytes) != TC_RF_RESULT_OK)
            return 4;
        show("status", bytes);
    }
    const tc_rf_bearer_qos_t wrong = {.has_s_nssai = true, .has_sd = true, .sd = 0x1000000};
    const tc_rf_bearer_t fourth = {17, 4};
    if (tc_rf_add_bearer(tc, fourth, &wrong, 0) != TC_RF_RESULT_OUT_OF_RANGE)
        return 5;
    puts(tc_rf_last_error(tc));
    return tc_rf_destroy(tc) == TC_RF_RESULT_OK ? 0 : 6;
}
"""


def test_a_bearer_that_is_added_starts_with_the_node_default(tmp_path: Path) -> None:
    source = tmp_path / "set_up.c"
    source.write_text(SET_UP)
    rule = {
        "match": {"five_qis": [9], "s_nssais": [{"sst": 1, "sd": None}], "drbs": []},
        "pipeline": e2sm_tc.pipeline("fq_codel"),
        "lease_ms": None,
        "as_safe": True,
    }
    change = {"set": [rule]}
    default = {"owner": None, "lease_ms": 2_000, "dry_run": False, "change": change}
    program = build(source, tmp_path / "set_up")
    output = run([str(program), *control({"node_default": default}, 5)])
    assert outcome_of(output) == {"accepted": {"revision": 1, "lease_ms": 2_000}}
    reports = re.findall(r"^status: ([0-9a-f]+)$", output, re.MULTILINE)
    statuses = [
        e2sm_tc.decode("indication", bytes.fromhex(each))["pipeline_status"][0] for each in reports
    ]
    names = [(status["name"], status["safe"], "by_default" in status) for status in statuses]
    # Of the second nothing is known, and the third comes when the lease has ended.
    bare = ("transparent", True, False)
    assert names == [("fq_codel", True, True), bare, bare]
    assert statuses[0]["qos"] == {"five_qis": [9], "s_nssai": {"sst": 1, "sd": None}}
    assert re.findall(r"^changed: (\d)$", output, re.MULTILINE) == ["1"]
    assert "qos.sd: 16777216; expected at most 16777215" in output


def feed(bearer: Mapping[str, object], origin_us: int = 0) -> Mapping[str, object]:
    """A forecast feed of one bearer: twenty milliseconds in which 2000 B drain each."""
    return {
        "forecast_feed": {
            "bearers": [
                {
                    "bearer": bearer,
                    "origin_us": origin_us,
                    "horizon_start_us": 1000,
                    "step_us": 1000,
                    "occupancy_bytes": [5000] * 20,
                    "limit_bytes": [],
                    "drain_bytes": [2000] * 20,
                }
            ]
        }
    }


def test_a_forecast_reaches_the_bearer_it_is_for(example: Path) -> None:
    bearer = {"ue": {"rnti": 0x4601}, "drb": 1}
    output = run([str(example), *control(feed(bearer), 3)])
    # The revision is the one that the template made: a forecast changes no pipeline.
    assert outcome_of(output) == {"accepted": {"revision": 2, "lease_ms": None}}


def test_the_gnb_is_notified_when_the_pacer_starts_and_stops_using_forecasts(example: Path) -> None:
    bearer = {"ue": {"rnti": 0x4601}, "drb": 1}
    paced = {
        "transaction": {
            "bearer": bearer,
            "expected_revision": None,
            "lease_ms": None,
            "dry_run": False,
            "change": {"delta": [{"set_pacer": {"forecast": {"stale_us": 500_000}}}]},
        }
    }
    # The second control comes after five seconds, with points for the twenty milliseconds then.
    output = run([str(example), *control(paced, 1), *control(feed(bearer, 5_000_000), 3)])
    sources = re.findall(
        r"^paced by (a forecast|its own measure) at ([\d.]+) ms$", output, re.MULTILINE
    )
    assert [what for what, _ in sources] == ["a forecast", "its own measure"], output
    assert float(sources[0][1]) == 5_000
    # Within a step of 1 ms of the last point, and the slot in which it is looked at.
    assert 5_020 < float(sources[1][1]) <= 5_022


@pytest.mark.parametrize(
    ("header_and_message", "cause"),
    [
        (["00", ""], "malformed"),
        (
            control(
                {
                    "lease_renewal": {
                        "bearer": {"ue": {"rnti": 1}, "drb": 9},
                        "revision": 1,
                        "lease_ms": 100,
                    }
                },
                2,
            ),
            "unknown_bearer",
        ),
        (control(feed({"ue": {"rnti": 1}, "drb": 9}), 3), "unknown_bearer"),
    ],
)
def test_what_cannot_be_executed_is_refused_with_its_cause(
    example: Path, header_and_message: list[str], cause: str
) -> None:
    outcome = outcome_of(run([str(example), *header_and_message]))
    assert outcome["refused"]["cause"] == cause, json.dumps(outcome)  # type: ignore[index]


def test_nothing_is_leaked_or_misused(example: Path) -> None:
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        pytest.skip("no valgrind here, which watches the memory of the example")
    checks = ["--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=all", "--quiet"]
    run([valgrind, *checks, str(example)])


def test_threads_serve_bearers_side_by_side_and_lose_nothing(tmp_path: Path) -> None:
    output = run([str(build(EXAMPLES / "threads.c", tmp_path / "threads"))])
    counts = re.findall(r"sent (\d+) = forwarded (\d+) \+ dropped (\d+)", output)
    assert len(counts) == 4, output
    for sent, *ends in counts:
        assert int(sent) == sum(map(int, ends)), output


def test_the_header_is_cpp_too_and_the_shared_library_links(tmp_path: Path) -> None:
    source = tmp_path / "version.cc"
    source.write_text(
        '#include "tc_rf.h"\n#include <cstdio>\n'
        "int main() { std::puts(tc_rf_version()); return tc_rf_destroy(nullptr); }\n"
    )
    program, library = tmp_path / "version", PREFIX / "lib"
    command = [compiler("c++"), "-Wall", "-Wextra", "-Werror", "-I", str(PREFIX / "include")]
    command += [str(source), "-L", str(library), f"-Wl,-rpath,{library}", "-ltc_rf_c"]
    subprocess.run([*command, "-o", str(program)], check=True)
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", run([str(program)]))
