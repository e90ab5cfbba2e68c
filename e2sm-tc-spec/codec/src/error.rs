//! Errors of encoding, decoding and validation, with the path of the element.

use std::fmt;

/// Why a message could not be decoded.
///
/// `element` is a path such as `queues[2].shaper.rate_kbps`; empty for the message itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// Path of the offending element.
    pub element: String,
    /// Where reading that element stopped, in bits from the start of the message.
    pub bit_offset: usize,
    /// What is wrong with it.
    pub problem: Problem,
}

/// Why a value could not be encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodeError {
    /// Path of the offending element.
    pub element: String,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with an element.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The message ends inside the element.
    #[error("needs {needed_bits} bits, but {remaining_bits} are left")]
    Truncated {
        /// Bits the element needs.
        needed_bits: usize,
        /// Bits left in the message.
        remaining_bits: usize,
    },
    /// Bytes after the last element.
    #[error("expected the end of the message, but {bytes} more bytes follow")]
    TrailingBytes {
        /// Bytes left over.
        bytes: usize,
    },
    /// A number outside its range.
    #[error("expected {low}..={high}, found {value}")]
    OutOfRange {
        /// The number.
        value: u64,
        /// Smallest allowed.
        low: u64,
        /// Largest allowed.
        high: u64,
    },
    /// A list or string with too few or too many members.
    #[error("expected {low}..={high} members, found {count}")]
    Size {
        /// Members found or announced.
        count: usize,
        /// Fewest allowed.
        low: usize,
        /// Most allowed.
        high: usize,
    },
    /// A list that announces more members than the rest of the message can hold.
    #[error("announces {count} members, but the rest of the message holds at most {most}")]
    MoreThanFits {
        /// Members announced.
        count: usize,
        /// Most that fit.
        most: usize,
    },
    /// A kind that this version does not have.
    #[error("expected {expected}, found {value}")]
    UnknownKind {
        /// The number on the wire.
        value: u64,
        /// The kinds of this version.
        expected: &'static str,
    },
    /// An alternative or value added by a later version.
    #[error("added by a later version of the service model; expected {expected}")]
    LaterVersion {
        /// The kinds of this version.
        expected: &'static str,
    },
    /// A value that stands for those of later versions, which only a receiver has.
    #[error("stands for values of later versions and is never sent")]
    NeverSent,
    /// A character outside printable ASCII.
    #[error("expected printable ASCII, found character code {code:#x}")]
    Character {
        /// Code of the first such character.
        code: u32,
    },
    /// Bytes that are not UTF-8.
    #[error("expected UTF-8, found an invalid byte at {at} of the string")]
    Utf8 {
        /// Offset in the string.
        at: usize,
    },
    /// A well-formed encoding other than the canonical one.
    #[error("expected {expected}")]
    NotCanonical {
        /// What the rules prescribe.
        expected: &'static str,
    },
}

/// A violation of a rule beyond the constraints of the ASN.1 types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) element: String,
    pub(crate) kind: ViolationKind,
    pub(crate) expected: String,
    pub(crate) found: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ViolationKind {
    OutOfRange,
    Inconsistent,
    DuplicateId,
}

impl ViolationKind {
    pub(crate) fn at(
        self,
        element: &str,
        expected: impl fmt::Display,
        found: impl fmt::Display,
    ) -> Violation {
        let (expected, found) = (expected.to_string(), found.to_string());
        Violation { element: element.to_owned(), kind: self, expected, found }
    }
}

/// Checks that a component is at least as large as another.
pub(crate) fn at_least(
    element: &str,
    value: impl Into<u64>,
    least: impl Into<u64>,
) -> Result<(), Violation> {
    let (value, least) = (value.into(), least.into());
    if value >= least {
        return Ok(());
    }
    Err(ViolationKind::OutOfRange.at(element, format!("at least {least}"), value))
}

/// Prepends a step to an element path: a component name, an index, or nothing for a flattened
/// component.
pub(crate) fn prepend(path: &mut String, step: &str) {
    if step.is_empty() {
        return;
    }
    if !path.is_empty() && !path.starts_with('[') {
        path.insert(0, '.');
    }
    path.insert_str(0, step);
}

impl DecodeError {
    pub(crate) fn new(bit_offset: usize, problem: Problem) -> Self {
        Self { element: String::new(), bit_offset, problem }
    }

    /// Whether the message is well formed but has an element that a later version added. It was then
    /// read to its end.
    pub(crate) fn is_of_later_version(&self) -> bool {
        matches!(self.problem, Problem::LaterVersion { .. })
    }
}

impl EncodeError {
    pub(crate) fn new(problem: Problem) -> Self {
        Self { element: String::new(), problem }
    }
}

/// Errors whose `element` is extended by the components and lists that contain it.
macro_rules! element_path {
    ($($error:ty),*) => {
        $(
            impl $error {
                pub(crate) fn within(mut self, component: &str) -> Self {
                    $crate::error::prepend(&mut self.element, component);
                    self
                }

                pub(crate) fn at_index(mut self, index: usize) -> Self {
                    $crate::error::prepend(&mut self.element, &format!("[{index}]"));
                    self
                }
            }
        )*
    };
}

pub(crate) use element_path;

element_path!(DecodeError, EncodeError, Violation);

fn element_or_message(element: &str) -> &str {
    if element.is_empty() { "message" } else { element }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (byte, bit) = (self.bit_offset / 8, self.bit_offset % 8);
        let element = element_or_message(&self.element);
        match bit {
            0 => write!(f, "{element} at byte {byte}: {}", self.problem),
            _ => write!(f, "{element} at byte {byte} bit {bit}: {}", self.problem),
        }
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", element_or_message(&self.element), self.problem)
    }
}

impl std::error::Error for DecodeError {}
impl std::error::Error for EncodeError {}
