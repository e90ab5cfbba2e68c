//! RLC, MAC, channels and F1-U of a 5G downlink on virtual time.
