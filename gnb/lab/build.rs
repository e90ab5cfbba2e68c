//! Compiles `forecast.proto` for the trained model behind a run, and `e2_gateway.proto` for the gateway,
//! with a compiler written in Rust, so that no `protoc` is needed.

use std::error::Error;

#[cfg(not(feature = "cli"))]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    Ok(())
}

#[cfg(feature = "cli")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    // Its messages alone: they come through a pipe.
    tonic_prost_build::configure()
        .build_client(false)
        .build_server(false)
        .compile_fds(compiled("forecast.proto")?)?;
    #[cfg(feature = "gateway")]
    gateway()?;
    Ok(())
}

#[cfg(feature = "cli")]
fn compiled(file: &str) -> Result<prost_types::FileDescriptorSet, Box<dyn Error>> {
    use std::{env, path::PathBuf};

    let proto_dir = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../interfaces/proto");
    let proto = proto_dir.join(file);
    println!("cargo:rerun-if-changed={}", proto.display());
    Ok(protox::compile([&proto], [&proto_dir])?)
}

#[cfg(feature = "gateway")]
fn gateway() -> Result<(), Box<dyn Error>> {
    use std::{env, fs, path::PathBuf};

    use prost::Message;

    let descriptors = compiled("e2_gateway.proto")?;
    // What the reflection service serves.
    let descriptor_file = PathBuf::from(env::var("OUT_DIR")?).join("e2_gateway_descriptor.bin");
    fs::write(descriptor_file, descriptors.encode_to_vec())?;

    // `Bytes` instead of `Vec<u8>`: an indication is shared by its subscribers, not copied.
    tonic_prost_build::configure().bytes(".").compile_fds(descriptors)?;
    // With its services: the CU subscribes, and the server's side is for its tests.
    let stream = PathBuf::from(env::var("OUT_DIR")?).join("stream");
    fs::create_dir_all(&stream)?;
    tonic_prost_build::configure().out_dir(stream).compile_fds(compiled("forecast.proto")?)?;
    Ok(())
}
