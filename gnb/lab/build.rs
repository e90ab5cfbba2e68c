//! Compiles `e2_gateway.proto` for the gateway, with a compiler written in Rust, so that no
//! `protoc` is needed.

use std::error::Error;

#[cfg(not(feature = "gateway"))]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    Ok(())
}

#[cfg(feature = "gateway")]
fn main() -> Result<(), Box<dyn Error>> {
    use std::{env, fs, path::PathBuf};

    use prost::Message;

    let proto_dir = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../interfaces/proto");
    let proto = proto_dir.join("e2_gateway.proto");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={}", proto.display());

    let descriptors = protox::compile([&proto], [&proto_dir])?;
    // What the reflection service serves.
    let descriptor_file = PathBuf::from(env::var("OUT_DIR")?).join("e2_gateway_descriptor.bin");
    fs::write(descriptor_file, descriptors.encode_to_vec())?;

    // `Bytes` instead of `Vec<u8>`: an indication is shared by its subscribers, not copied.
    tonic_prost_build::configure().bytes(".").compile_fds(descriptors)?;
    Ok(())
}
