"""HTTP/2 as the listener of a gRPC server reads it: frames and sizes of header blocks."""
