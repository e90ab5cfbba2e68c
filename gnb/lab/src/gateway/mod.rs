//! The E2 gateway server behind `gnb-lab serve`.

/// Generated from `interfaces/proto/e2_gateway.proto`.
#[allow(missing_docs, unreachable_pub, clippy::all)]
pub mod proto {
    tonic::include_proto!("sojourn.e2.v1");

    /// Encoded `FileDescriptorSet` of the door, for the reflection service.
    pub const FILE_DESCRIPTOR_SET: &[u8] =
        tonic::include_file_descriptor_set!("e2_gateway_descriptor");
}
