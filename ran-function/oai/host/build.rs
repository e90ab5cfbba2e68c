//! Writes `sojourn_gnb.h` beside the library.

use std::path::{Path, PathBuf};
use std::{env, error::Error};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=src/c_api.rs");
    println!("cargo::rerun-if-changed=cbindgen.toml");
    let crate_dir = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let config = cbindgen::Config::from_file(crate_dir.join("cbindgen.toml"))?;
    let bindings = cbindgen::Builder::new()
        .with_src(crate_dir.join("src/c_api.rs"))
        .with_config(config)
        .generate()?;
    // OUT_DIR is <target>/<profile>/build/<package>-<hash>/out, the library is in
    // <target>/<profile>; Cargo has no variable for that.
    let out_dir = PathBuf::from(env::var("OUT_DIR")?);
    let beside = out_dir.ancestors().nth(3).map_or(out_dir.as_path(), Path::new);
    bindings.write_to_file(beside.join("sojourn_gnb.h"));
    Ok(())
}
