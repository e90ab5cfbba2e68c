//! Embeds the files of the papers and their scenarios, so that an installed program has them.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let mut list = String::new();
    for root in ["papers", "../scenarios"] {
        println!("cargo:rerun-if-changed={root}");
        for folder in sorted(Path::new(root))?.iter().filter(|path| path.is_dir()) {
            for file in sorted(folder)? {
                let name = file.strip_prefix("..").unwrap_or(&file).display().to_string();
                let path = fs::canonicalize(&file)?.display().to_string();
                list += &format!("({name:?}, include_str!({path:?})),\n");
            }
        }
    }
    let out = env::var_os("OUT_DIR").map(PathBuf::from).ok_or(io::ErrorKind::NotFound)?;
    fs::write(out.join("files.rs"), format!("[\n{list}]\n"))
}

fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
