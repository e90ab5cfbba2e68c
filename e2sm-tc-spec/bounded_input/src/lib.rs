//! Reading what a program was given: regular files only, at most a stated number of bytes; lines of
//! a stream up to a length.

mod file;
mod line;

pub use file::{FileError, drain, open_file, read_file, read_text};
pub use line::{Line, read_line};
