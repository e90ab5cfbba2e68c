//! The plain layout: a checked cursor, numbers, lists, and [`plain!`], which makes a type with its
//! JSON, encoder, decoder and, for tests, value generator from one declaration.

use crate::error::{DecodeError, EncodeError, Problem};

/// Reads from the front of a message.
#[derive(Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    length: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, length: bytes.len() }
    }

    pub(crate) fn offset(&self) -> usize {
        self.length - self.bytes.len()
    }

    pub(crate) fn error(&self, problem: Problem) -> DecodeError {
        DecodeError::new(8 * self.offset(), problem)
    }

    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        match self.bytes.split_first_chunk::<N>() {
            Some((chunk, rest)) => {
                self.bytes = rest;
                Ok(*chunk)
            }
            None => Err(self.error(Problem::Truncated {
                needed_bits: 8 * N,
                remaining_bits: 8 * self.bytes.len(),
            })),
        }
    }

    pub(crate) fn finish(self) -> Result<(), DecodeError> {
        match self.bytes.len() {
            0 => Ok(()),
            bytes => Err(self.error(Problem::TrailingBytes { bytes })),
        }
    }
}

/// A type of the plain layout.
pub(crate) trait Plain: Sized {
    /// Fewest bytes of a value; bounds the announced length of a list.
    const LEAST_BYTES: usize;

    fn put(&self, bytes: &mut Vec<u8>) -> Result<(), EncodeError>;
    fn get(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError>;

    #[cfg(feature = "testing")]
    fn strategy() -> proptest::strategy::BoxedStrategy<Self>;
}

macro_rules! number {
    ($number:ty, $bytes:literal, $strategy:expr) => {
        impl Plain for $number {
            const LEAST_BYTES: usize = $bytes;

            fn put(&self, bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
                bytes.extend_from_slice(&self.to_le_bytes());
                Ok(())
            }

            fn get(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
                cursor.take::<$bytes>().map(<$number>::from_le_bytes)
            }

            #[cfg(feature = "testing")]
            fn strategy() -> proptest::strategy::BoxedStrategy<Self> {
                proptest::strategy::Strategy::boxed($strategy)
            }
        }
    };
}

number!(u32, 4, proptest::num::u32::ANY);
number!(i32, 4, proptest::num::i32::ANY);
number!(i64, 8, proptest::num::i64::ANY);
// All floats but NaN, which is not equal to itself.
number!(f32, 4, {
    use proptest::num::f32::{INFINITE, NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO | INFINITE
});

impl<T: Plain + std::fmt::Debug + 'static> Plain for Vec<T> {
    const LEAST_BYTES: usize = 4;

    fn put(&self, bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
        let count = u32::try_from(self.len()).map_err(|_| {
            let high = u32::MAX as usize;
            EncodeError::new(Problem::Size { count: self.len(), low: 0, high })
        })?;
        count.put(bytes)?;
        for (index, member) in self.iter().enumerate() {
            member.put(bytes).map_err(|error| error.at_index(index))?;
        }
        Ok(())
    }

    fn get(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let count = u32::get(cursor)? as usize;
        // Checked before allocation: the message cannot hold more members.
        let most = cursor.bytes.len() / T::LEAST_BYTES;
        if count > most {
            return Err(cursor.error(Problem::MoreThanFits { count, most }));
        }
        let mut list = Self::with_capacity(count);
        for index in 0..count {
            list.push(T::get(cursor).map_err(|error| error.at_index(index))?);
        }
        Ok(list)
    }

    #[cfg(feature = "testing")]
    fn strategy() -> proptest::strategy::BoxedStrategy<Self> {
        proptest::strategy::Strategy::boxed(proptest::collection::vec(T::strategy(), 0..5))
    }
}

/// Four bytes of padding: zero when written, ignored when read.
#[derive(Clone, Debug)]
pub(crate) struct Hole;

impl Plain for Hole {
    const LEAST_BYTES: usize = 4;

    fn put(&self, bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
        0u32.put(bytes)
    }

    fn get(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        cursor.take::<4>().map(|_| Self)
    }

    #[cfg(feature = "testing")]
    fn strategy() -> proptest::strategy::BoxedStrategy<Self> {
        proptest::strategy::Strategy::boxed(proptest::strategy::Just(Self))
    }
}

/// The key of a component in JSON and in paths; empty for a flattened component.
macro_rules! key {
    (parameters) => {
        ""
    };
    (kind) => {
        "type"
    };
    ($field:ident) => {
        stringify!($field)
    };
}

/// A strategy of nested pairs, one level for each component.
#[cfg(feature = "testing")]
macro_rules! plain_strategies {
    () => { proptest::strategy::Just(()) };
    ($field:ty $(, $rest:ty)*) => {
        (<$field as Plain>::strategy(), plain_strategies!($($rest),*))
    };
}

/// The pattern that destructures those pairs.
#[cfg(feature = "testing")]
macro_rules! plain_pattern {
    () => { () };
    ($field:ident $(, $rest:ident)*) => { ($field, plain_pattern!($($rest),*)) };
}

macro_rules! body_pattern {
    ($variant:ident, [], $inner:ident) => { Self::$variant };
    ($variant:ident, [($type:ty)], $inner:ident) => { Self::$variant($inner) };
    ($variant:ident, [{ $($field:ident: $type:ty),* }], $inner:ident) => {
        Self::$variant { $($field),* }
    };
}

macro_rules! put_body {
    ($bytes:ident, [], $inner:ident) => {};
    ($bytes:ident, [($type:ty)], $inner:ident) => { $inner.put($bytes)? };
    ($bytes:ident, [{ $($field:ident: $type:ty),* }], $inner:ident) => {{
        $($field.put($bytes).map_err(|error| error.within(key!($field)))?;)*
    }};
}

macro_rules! get_body {
    ($cursor:ident, $variant:ident, []) => { Self::$variant };
    ($cursor:ident, $variant:ident, [($type:ty)]) => {
        Self::$variant(<$type as Plain>::get($cursor)?)
    };
    ($cursor:ident, $variant:ident, [{ $($field:ident: $type:ty),* }]) => {{
        $(
            let $field = <$type as Plain>::get($cursor)
                .map_err(|error| error.within(key!($field)))?;
        )*
        Self::$variant { $($field),* }
    }};
}

#[cfg(feature = "testing")]
macro_rules! body_strategy {
    ($variant:ident, []) => { proptest::strategy::Just(Self::$variant).boxed() };
    ($variant:ident, [($type:ty)]) => {
        <$type as Plain>::strategy().prop_map(Self::$variant).boxed()
    };
    ($variant:ident, [{ $($field:ident: $type:ty),* }]) => {
        plain_strategies!($($type),*)
            .prop_map(|plain_pattern!($($field),*)| Self::$variant { $($field),* })
            .boxed()
    };
}

/// Declares types of the layout with their [`Plain`]. A declaration is the Rust type with these
/// additions:
/// - `field: Type => Hole` is followed by padding.
/// - Alternatives of an enum start with their 32-bit number and their name in JSON.
/// - `tagged "key"` is the JSON key beside which an alternative's own keys stand.
macro_rules! plain {
    () => {};
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$field_meta:meta])* $field:ident: $type:ty $(=> $hole:ident)?,)*
        }
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl Plain for $name {
            const LEAST_BYTES: usize =
                0 $(+ <$type as Plain>::LEAST_BYTES $(+ <$hole as Plain>::LEAST_BYTES)?)*;

            fn put(&self, bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
                $(
                    self.$field.put(bytes).map_err(|error| error.within(key!($field)))?;
                    $($hole.put(bytes)?;)?
                )*
                Ok(())
            }

            fn get(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
                $(
                    let $field = <$type as Plain>::get(cursor)
                        .map_err(|error| error.within(key!($field)))?;
                    $(<$hole as Plain>::get(cursor)?;)?
                )*
                Ok(Self { $($field),* })
            }

            #[cfg(feature = "testing")]
            fn strategy() -> proptest::strategy::BoxedStrategy<Self> {
                use proptest::strategy::Strategy;
                plain_strategies!($($type),*)
                    .prop_map(|plain_pattern!($($field),*)| Self { $($field),* })
                    .boxed()
            }
        }

        plain! { $($rest)* }
    };
    (
        $(#[$meta:meta])*
        pub enum $name:ident $(tagged $tag:literal)? {
            $(
                $(#[$alternative_meta:meta])*
                $number:literal $label:literal => $variant:ident
                $(($inner:ty))?
                $({ $($(#[$field_meta:meta])* $field:ident: $type:ty,)* })?,
            )*
        }
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        $(#[serde(tag = $tag)])?
        pub enum $name {
            $(
                $(#[$alternative_meta])*
                #[serde(rename = $label)]
                $variant $(($inner))? $({ $($(#[$field_meta])* $field: $type,)* })?,
            )*
        }

        plain!(@impl $name, concat!("" $(, $tag)?), {
            $($number $label => $variant [$(($inner))? $({ $($field: $type),* })?]),*
        });
        plain! { $($rest)* }
    };
    (@impl $name:ident, $tag:expr,
        { $($number:literal $label:literal => $variant:ident $body:tt),* }
    ) => {
        impl Plain for $name {
            // The number alone: alternatives differ in size.
            const LEAST_BYTES: usize = 4;

            fn put(&self, bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
                match self {
                    $(body_pattern!($variant, $body, inner) => {
                        u32::put(&$number, bytes)?;
                        put_body!(bytes, $body, inner);
                    })*
                }
                Ok(())
            }

            fn get(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
                let start = 8 * cursor.offset();
                Ok(match u32::get(cursor).map_err(|error| error.within($tag))? {
                    $($number => get_body!(cursor, $variant, $body),)*
                    value => {
                        const EXPECTED: &str =
                            concat!("one of" $(, " ", $number, " (", $label, ")")*);
                        let problem =
                            Problem::UnknownKind { value: value.into(), expected: EXPECTED };
                        return Err(DecodeError::new(start, problem).within($tag));
                    }
                })
            }

            #[cfg(feature = "testing")]
            fn strategy() -> proptest::strategy::BoxedStrategy<Self> {
                use proptest::strategy::Strategy;
                proptest::strategy::Union::new([$(body_strategy!($variant, $body)),*]).boxed()
            }
        }
    };
}
