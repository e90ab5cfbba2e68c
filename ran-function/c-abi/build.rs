//! Writes `tc_rf.h` beside the libraries.

use std::path::{Path, PathBuf};
use std::{env, error::Error, fs};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=cbindgen.toml");
    let crate_dir = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let config = cbindgen::Config::from_file(crate_dir.join("cbindgen.toml"))?;
    let bindings =
        cbindgen::Builder::new().with_crate(&crate_dir).with_config(config).generate()?;
    let mut header = Vec::new();
    bindings.write(&mut header);
    // Constants begin with the name of their type, of which the "_t" is no part.
    let header =
        ["RESULT", "DROP", "EVENT"].iter().fold(String::from_utf8(header)?, |header, name| {
            header.replace(&format!("TC_RF_{name}_T_"), &format!("TC_RF_{name}_"))
        });
    // OUT_DIR is <target>/<profile>/build/<package>-<hash>/out, the libraries are in
    // <target>/<profile>; Cargo has no variable for that.
    let out_dir = PathBuf::from(env::var("OUT_DIR")?);
    let beside = out_dir.ancestors().nth(3).map_or(out_dir.as_path(), Path::new);
    fs::write(beside.join("tc_rf.h"), header)?;
    Ok(())
}
