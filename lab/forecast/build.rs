//! Compiles the messages of `forecast.proto` with a compiler written in Rust: no `protoc` is needed.

use std::{env, error::Error, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    let proto_dir = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../interfaces/proto");
    let proto = proto_dir.join("forecast.proto");
    println!("cargo:rerun-if-changed={}", proto.display());
    // Messages alone: they come through a pipe.
    tonic_prost_build::configure()
        .build_client(false)
        .build_server(false)
        .compile_fds(protox::compile([&proto], [&proto_dir])?)?;
    Ok(())
}
