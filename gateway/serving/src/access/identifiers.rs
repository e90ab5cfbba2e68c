//! Bounds of the identifiers that requests carry: they go into messages and audit lines.

use tonic::Status;

/// Bytes of an identifier, and characters of a field of the audit log. The Python programs have the same
/// bound: `gateway/access/vectors/audit.yaml`.
pub(super) const MAX_IDENTIFIER_BYTES: usize = 256;

/// Whether node id and RAN function OID of a request are short and printable.
///
/// # Errors
/// `INVALID_ARGUMENT` that names the field.
// The error is the status of the procedure.
#[allow(clippy::result_large_err)]
pub fn check_identifiers(node_id: &str, ran_function_oid: &str) -> Result<(), Status> {
    for (field, text) in [("node_id", node_id), ("ran_function_oid", ran_function_oid)] {
        let found = if text.len() > MAX_IDENTIFIER_BYTES {
            format!("{} bytes", text.len())
        } else if text.chars().any(char::is_control) {
            "a control character".to_owned()
        } else {
            continue;
        };
        return Err(Status::invalid_argument(format!(
            "{field}: {found}; expected at most {MAX_IDENTIFIER_BYTES} bytes without control characters"
        )));
    }
    Ok(())
}

/// A field of an audit line: the last character of a longer text is an ellipsis.
pub(super) fn field(text: &str) -> String {
    match text.char_indices().nth(MAX_IDENTIFIER_BYTES) {
        None => text.to_owned(),
        Some(_) => text.chars().take(MAX_IDENTIFIER_BYTES - 1).chain(['…']).collect(),
    }
}
