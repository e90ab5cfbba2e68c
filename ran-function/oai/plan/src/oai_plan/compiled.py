"""The adapter's sources compiled against OAI's headers, with the options of its build tree.

What a compiler says is certain; declarations that are read may be hidden by the preprocessor.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Final

from oai_plan.fit import COMMON, FLEXRIC, FLEXRIC_FILE, Finding, Fit, Level
from oai_plan.shapes import E2

NINJA: Final = "build.ninja"
CACHE: Final = "CMakeCache.txt"
BUILDS: Final = ("build", "cmake_targets/ran_build/build", "cmake_targets/ran_build/build_test")
"""Where OAI's own build script and its documentation build, from the root."""
_OBJECT: Final = re.compile(r"^build \S*nr-softmodem\.dir/\S+\.c\.o: C_COMPILER\S*[^\n]*\n", re.M)
_VARIABLE: Final = re.compile(r"^  (DEFINES|FLAGS|INCLUDES) = ([^\n]*)$", re.MULTILINE)
TIMEOUT_S: Final = 300


def build_tree(root: Path, given: Path | None) -> Path | None:
    """A build tree of OAI for ninja: the one given, or one at a usual place."""
    folders = [given] if given is not None else [root / name for name in BUILDS]
    fitting = (each for each in folders if (each / NINJA).is_file() and source_of(each) == root)
    return next(fitting, None)


def source_of(build: Path) -> Path | None:
    """The source tree that a build tree was configured for; none if it does not say."""
    text = (build / CACHE).read_text(errors="replace") if (build / CACHE).is_file() else ""
    found = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.+)$", text, re.MULTILINE)
    return None if found is None else Path(found[1]).resolve()


def options(build: Path) -> list[str] | None:
    """Options with which the build tree compiles a source of nr-softmodem; none if it has none."""
    text = (build / NINJA).read_text(errors="replace")
    found = _OBJECT.search(text)
    if found is None:
        return None
    end = text.find("\n\n", found.end())
    variables = dict(_VARIABLE.findall(text[found.end() : end]))
    words = [word for name in ("DEFINES", "FLAGS", "INCLUDES") for word in _words(variables, name)]
    return [word for word in words if not word.startswith("-Werror")]


def _words(variables: dict[str, str], name: str) -> list[str]:
    return shlex.split(variables.get(name, "").replace("$ ", " ").replace("$:", ":"))


def compile_all(fit: Fit, build: Path, adapter: Path, host: Path) -> list[Finding]:
    """A finding for each source of the generation that fits, with headers of the `host` library."""
    compiler = shutil.which("cc")
    if compiler is None:
        return [Finding(Level.WARN, "compiler", "no cc here: declarations were read alone")]
    if not (host / "sojourn_gnb.h").is_file():
        found = f"{host}: has no sojourn_gnb.h (make setup): declarations were read alone"
        return [Finding(Level.WARN, "compiler", found)]
    with_options = options(build)
    if with_options is None:
        found = f"{build}: compiles no nr-softmodem: declarations were read alone"
        return [Finding(Level.WARN, "compiler", found)]
    findings = []
    codec = adapter.parents[2] / "gateway/flexric"
    folders = (host, codec / "node", codec / "service-model/include", fit.root / FLEXRIC / "src")
    includes = [word for folder in folders for word in ("-I", str(folder))]
    e2 = E2 if (fit.root / FLEXRIC / FLEXRIC_FILE).is_file() else ()
    for source in ("adapter.c", *COMMON, *fit.sources, *e2):
        done = subprocess.run(
            [
                *(compiler, *includes, *with_options),
                *("-Wfatal-errors", "-fsyntax-only", str(adapter / source)),
            ],
            cwd=build,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            check=False,
        )
        said = next((line for line in done.stderr.splitlines() if " error: " in line), "")
        if done.returncode == 0:
            findings.append(Finding(Level.OK, source, "compiles"))
        else:
            place, _, error = said.partition(" error: ")
            found = error or "does not compile"
            findings.append(Finding(Level.FAIL, source, found, place.rstrip(":")))
    return findings
