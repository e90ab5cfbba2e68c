//! Senders and receivers on virtual time.
