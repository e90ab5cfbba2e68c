//! Identifies the build of a shared object.

use std::{io, path::Path};

use object::Object as _;

/// Largest shared object; those of FlexRIC with debug information have 10 MB.
const MAX_BYTES: u64 = 256 << 20;

/// The GNU build ID in hexadecimal, which installation and stripping keep; empty if the linker wrote
/// none.
///
/// # Errors
/// When the file cannot be read, or is no object file.
pub fn build_id(path: &Path) -> io::Result<String> {
    let bytes = bounded_input::read_file(path, MAX_BYTES).map_err(io::Error::other)?;
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    let file = object::File::parse(&*bytes).map_err(invalid)?;
    let id = file.build_id().map_err(invalid)?.unwrap_or_default();
    Ok(id.iter().map(|byte| format!("{byte:02x}")).collect())
}
