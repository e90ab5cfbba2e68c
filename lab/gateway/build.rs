//! Compiles `e2_gateway.proto` and `forecast.proto` with a compiler written in Rust: no `protoc` is needed.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    let proto_dir = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../interfaces/proto");
    let compiled = |file: &str| {
        let proto = proto_dir.join(file);
        println!("cargo:rerun-if-changed={}", proto.display());
        protox::compile([&proto], [&proto_dir])
    };

    let descriptors = compiled("e2_gateway.proto")?;
    // Served by the reflection service.
    let descriptor_file = PathBuf::from(env::var("OUT_DIR")?).join("e2_gateway_descriptor.bin");
    fs::write(descriptor_file, descriptors.encode_to_vec())?;
    // `Bytes` instead of `Vec<u8>`: an indication is shared by its subscribers, not copied.
    tonic_prost_build::configure().bytes(".").compile_fds(descriptors)?;

    // The CU is a client of the forecast stream; the server's side is for the tests.
    tonic_prost_build::configure().compile_fds(compiled("forecast.proto")?)?;
    Ok(())
}
