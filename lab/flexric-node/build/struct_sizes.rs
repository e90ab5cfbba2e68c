//! Sizes of the structures that this node and FlexRIC's agent hand to each other: by the headers and
//! by the debug information of the library that was compiled, which may be another's.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::Path,
    process::{Command, Output},
};

/// Handed over by `init_agent_api` and by the functions of its tables.
const SHARED: [&str; 7] = [
    "fr_args_t",
    "sm_io_ag_ran_t",
    "sm_ag_if_ans_t",
    "kpm_rd_ind_data_t",
    "kpm_e2_setup_t",
    "tc_ctrl_req_data_t",
    "byte_array_t",
];
const HEADERS: [&str; 2] = ["agent/e2_agent_api.h", "sm/sm_io.h"];

pub(crate) type Sizes = BTreeMap<String, u64>;

/// Refuses a library whose structures have other sizes than the headers say. One without debug
/// information, or without binutils to read it, is taken as it is.
pub(crate) fn check(compiler: &cc::Tool, source: &Path, library: &Path) -> Result<(), String> {
    let theirs = of_library(library);
    if theirs.is_empty() {
        let shown = library.display();
        println!("cargo::warning={shown}: no debug information, so its structures are not checked");
        return Ok(());
    }
    let ours = of_headers(compiler)?;
    let differing: Vec<String> = theirs
        .iter()
        .filter_map(|(name, size)| {
            let own = ours.get(name).filter(|own| *own != size)?;
            let (source, library) = (source.display(), library.display());
            Some(format!("{name}: {own} bytes by {source}, {size} in {library}"))
        })
        .collect();
    if differing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "FLEXRIC_SRC and FLEXRIC_BUILD are not of one FlexRIC: {}; build FlexRIC again",
        differing.join("; ")
    ))
}

/// What a program compiled against the headers says.
fn of_headers(compiler: &cc::Tool) -> Result<Sizes, String> {
    let folder = std::env::var("OUT_DIR").map_err(|error| error.to_string())?;
    let (code, program) = (Path::new(&folder).join("sizes.c"), Path::new(&folder).join("sizes"));
    let mut text = String::from("#include <stdio.h>\n");
    for header in HEADERS {
        let _ = writeln!(text, "#include \"{header}\"");
    }
    text.push_str("int main(void) {\n");
    for name in SHARED {
        let _ = writeln!(text, "  printf(\"{name} %zu\\n\", sizeof({name}));");
    }
    text.push_str("}\n");
    fs::write(&code, text).map_err(|error| format!("{}: {error}", code.display()))?;
    run(compiler.to_command().arg(&code).arg("-o").arg(&program))?;
    let output = run(&mut Command::new(&program))?;
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(lines
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(name, size)| Some((name.to_owned(), size.parse().ok()?)))
        .collect())
}

fn run(command: &mut Command) -> Result<Output, String> {
    let shown = command.get_program().display().to_string();
    let output = command.output().map_err(|error| format!("{shown}: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    Err(format!("{shown}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// What the library's debug information says; empty where it has none.
fn of_library(library: &Path) -> Sizes {
    let mut command = Command::new("readelf");
    command.env("LC_ALL", "C").args(["--debug-dump=info", "--dwarf-depth=2"]).arg(library);
    let Ok(output) = command.output() else { return Sizes::new() };
    typedef_sizes(&String::from_utf8_lossy(&output.stdout))
}

/// The sizes of structures by the names of their types. Each file of an archive counts its offsets
/// from zero.
fn typedef_sizes(dump: &str) -> Sizes {
    let mut found = Sizes::new();
    for file in dump.split("\nFile: ") {
        let (mut sizes, mut named) = (BTreeMap::new(), BTreeMap::new());
        let (mut offset, mut tag, mut name) = ("", "", "");
        for line in file.lines() {
            if let Some(entry) = line.strip_prefix(" <1><") {
                let Some((at, rest)) = entry.split_once('>') else { continue };
                (offset, name) = (at, "");
                tag = rest.rsplit_once('(').map_or("", |(_, tag)| tag.trim_end_matches(')'));
            } else if line.starts_with(" <2>") {
                tag = "";
            } else if let Some((_, value)) = line.split_once("DW_AT_name") {
                name = value.rsplit(' ').next().unwrap_or("");
            } else if let (Some((_, value)), "DW_TAG_structure_type") =
                (line.split_once("DW_AT_byte_size"), tag)
            {
                sizes.insert(offset, number(value));
            } else if let (Some((_, value)), "DW_TAG_typedef") =
                (line.split_once("DW_AT_type"), tag)
                && SHARED.contains(&name)
            {
                let at = value.rsplit_once("<0x").map_or("", |(_, at)| at.trim_end_matches('>'));
                named.insert(name, at);
            }
        }
        for (name, at) in named {
            if let Some(Some(size)) = sizes.get(at) {
                found.insert(name.to_owned(), *size);
            }
        }
    }
    found
}

/// `readelf` writes sizes in decimal digits, later ones in hexadecimal.
fn number(text: &str) -> Option<u64> {
    let digits = text.trim().trim_start_matches(':').trim();
    match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => digits.parse().ok(),
    }
}
