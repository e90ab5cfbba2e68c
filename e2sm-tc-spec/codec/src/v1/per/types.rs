//! The ASN.1 types of the module, each with its constraint.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;

use super::bits::{Reader, Writer, least_bits, read_whole};
use crate::error::{DecodeError, EncodeError, Problem, Violation, ViolationKind};

/// Properties of an ASN.1 type that do not depend on the Rust type of its values.
pub(crate) trait Shape {
    /// Fewest bits of a value; bounds the announced length of a list.
    const LEAST_BITS: usize;
    /// Whether a bit in the preamble of the SEQUENCE says that the component is present.
    const OPTIONAL: bool = false;
    /// Index of the last alternative of a CHOICE or value of an ENUMERATED.
    const LAST_INDEX: u64 = 0;
}

/// Encoding of a Rust value of type `T`: an ASN.1 type with its constraint.
///
/// A SEQUENCE, CHOICE or ENUMERATED of the module is a Rust type and implements its own encoding.
pub(crate) trait Type<T: Sized>: Shape {
    fn put(value: &T, writer: &mut Writer) -> Result<(), EncodeError>;
    fn get(reader: &mut Reader<'_>) -> Result<T, DecodeError>;

    /// The component's bit in the preamble of a SEQUENCE; `None` for mandatory components.
    fn presence(_value: &T) -> Option<bool> {
        None
    }

    fn get_if(_present: bool, reader: &mut Reader<'_>) -> Result<T, DecodeError> {
        Self::get(reader)
    }

    /// Checks narrower ranges than the encoding's and relations between components.
    fn check(_value: &T) -> Result<(), Violation> {
        Ok(())
    }

    /// Values within the constraint, including its limits.
    #[cfg(feature = "testing")]
    fn strategy() -> proptest::strategy::BoxedStrategy<T>;
}

/// `INTEGER (LOW..HIGH)`.
pub(crate) struct Int<const LOW: u64, const HIGH: u64>;

impl<const LOW: u64, const HIGH: u64> Shape for Int<LOW, HIGH> {
    const LEAST_BITS: usize = least_bits(HIGH - LOW);
}

impl<T, const LOW: u64, const HIGH: u64> Type<T> for Int<LOW, HIGH>
where
    T: Copy + Into<u64> + TryFrom<u64> + std::fmt::Debug + 'static,
{
    fn put(value: &T, writer: &mut Writer) -> Result<(), EncodeError> {
        writer.constrained((*value).into(), LOW, HIGH)
    }

    fn get(reader: &mut Reader<'_>) -> Result<T, DecodeError> {
        let value = reader.constrained(LOW, HIGH)?;
        T::try_from(value)
            .map_err(|_| reader.error(Problem::OutOfRange { value, low: LOW, high: HIGH }))
    }

    #[cfg(feature = "testing")]
    fn strategy() -> proptest::strategy::BoxedStrategy<T> {
        use proptest::prelude::*;
        prop_oneof![
            1 => Just(LOW),
            1 => Just(HIGH),
            3 => LOW..=HIGH,
            // All octet counts of wide ranges.
            3 => (0u32..64, LOW..=HIGH).prop_map(|(shift, n)| LOW + ((n - LOW) >> shift)),
        ]
        .prop_filter_map("fits the Rust type", |n| T::try_from(n).ok())
        .boxed()
    }
}

macro_rules! unsigned {
    ($($type:ident),*) => {
        $(
            /// `INTEGER` from 0 to the largest value.
            impl Shape for $type {
                const LEAST_BITS: usize = <Int<0, { $type::MAX as u64 }> as Shape>::LEAST_BITS;
            }

            impl Type<$type> for $type {
                fn put(value: &$type, writer: &mut Writer) -> Result<(), EncodeError> {
                    <Int<0, { $type::MAX as u64 }> as Type<$type>>::put(value, writer)
                }

                fn get(reader: &mut Reader<'_>) -> Result<$type, DecodeError> {
                    <Int<0, { $type::MAX as u64 }> as Type<$type>>::get(reader)
                }

                #[cfg(feature = "testing")]
                fn strategy() -> proptest::strategy::BoxedStrategy<$type> {
                    <Int<0, { $type::MAX as u64 }> as Type<$type>>::strategy()
                }
            }

            impl Bounded for $type {
                fn number(&self) -> Option<u64> {
                    Some(u64::from(*self))
                }
            }
        )*
    };
}

unsigned!(u8, u16, u32, u64);

/// `BOOLEAN`.
impl Shape for bool {
    const LEAST_BITS: usize = 1;
}

impl Type<bool> for bool {
    fn put(value: &bool, writer: &mut Writer) -> Result<(), EncodeError> {
        writer.bits(u64::from(*value), 1);
        Ok(())
    }

    fn get(reader: &mut Reader<'_>) -> Result<bool, DecodeError> {
        reader.bit()
    }

    #[cfg(feature = "testing")]
    fn strategy() -> proptest::strategy::BoxedStrategy<bool> {
        proptest::strategy::Strategy::boxed(proptest::arbitrary::any::<bool>())
    }
}

/// `OPTIONAL`.
impl<C> Shape for Option<C> {
    // The bit in the preamble.
    const LEAST_BITS: usize = 1;
    const OPTIONAL: bool = true;
}

impl<T, C> Type<Option<T>> for Option<C>
where
    T: std::fmt::Debug + 'static,
    C: Type<T>,
{
    fn put(value: &Option<T>, writer: &mut Writer) -> Result<(), EncodeError> {
        value.as_ref().map_or(Ok(()), |value| C::put(value, writer))
    }

    fn get(reader: &mut Reader<'_>) -> Result<Option<T>, DecodeError> {
        C::get(reader).map(Some)
    }

    fn presence(value: &Option<T>) -> Option<bool> {
        Some(value.is_some())
    }

    fn get_if(present: bool, reader: &mut Reader<'_>) -> Result<Option<T>, DecodeError> {
        if present { Self::get(reader) } else { Ok(None) }
    }

    fn check(value: &Option<T>) -> Result<(), Violation> {
        value.as_ref().map_or(Ok(()), C::check)
    }

    #[cfg(feature = "testing")]
    fn strategy() -> proptest::strategy::BoxedStrategy<Option<T>> {
        proptest::strategy::Strategy::boxed(proptest::option::of(C::strategy()))
    }
}

/// A number bounded by `where` in a declaration; absent optional numbers are in range.
pub(crate) trait Bounded {
    fn number(&self) -> Option<u64>;
}

impl<T: Bounded> Bounded for Option<T> {
    fn number(&self) -> Option<u64> {
        self.as_ref().and_then(T::number)
    }
}

/// 32-bit numbers except 0.
pub(crate) const POSITIVE: RangeInclusive<u64> = 1..=0xffff_ffff;

pub(crate) fn within(value: &impl Bounded, range: &RangeInclusive<u64>) -> Result<(), Violation> {
    match value.number() {
        Some(number) if !range.contains(&number) => {
            let expected = format!("{}..={}", range.start(), range.end());
            Err(ViolationKind::OutOfRange.at("", expected, number))
        }
        _ => Ok(()),
    }
}

/// `SEQUENCE (SIZE (LOW..HIGH)) OF`. With a member that this version does not know it is not known
/// as a whole, unless `APART`: such members are then left out, as if they had not been sent.
pub(crate) struct ListOf<C, const LOW: usize, const HIGH: usize, const APART: bool = false>(
    std::marker::PhantomData<C>,
);

/// A list whose members do not depend on each other: what is reported or forecast of bearers.
pub(crate) type ReportOf<C, const LOW: usize, const HIGH: usize> = ListOf<C, LOW, HIGH, true>;

impl<C: Shape, const LOW: usize, const HIGH: usize, const APART: bool> Shape
    for ListOf<C, LOW, HIGH, APART>
{
    const LEAST_BITS: usize = least_bits((HIGH - LOW) as u64) + LOW * C::LEAST_BITS;
}

impl<T, C, const LOW: usize, const HIGH: usize, const APART: bool> Type<Vec<T>>
    for ListOf<C, LOW, HIGH, APART>
where
    T: std::fmt::Debug + 'static,
    C: Type<T>,
{
    fn put(list: &Vec<T>, writer: &mut Writer) -> Result<(), EncodeError> {
        let count = list.len();
        if !(LOW..=HIGH).contains(&count) {
            return Err(EncodeError::new(Problem::Size { count, low: LOW, high: HIGH }));
        }
        writer.constrained(count as u64, LOW as u64, HIGH as u64)?;
        for (index, member) in list.iter().enumerate() {
            C::put(member, writer).map_err(|error| error.at_index(index))?;
        }
        Ok(())
    }

    fn get(reader: &mut Reader<'_>) -> Result<Vec<T>, DecodeError> {
        let count = reader.constrained(LOW as u64, HIGH as u64)? as usize;
        // Checked before allocation: the message cannot hold more members.
        let most = reader.remaining_bits() / C::LEAST_BITS.max(1);
        if count > most {
            return Err(reader.error(Problem::MoreThanFits { count, most }));
        }
        let mut list = Vec::with_capacity(count);
        let mut unknown = None;
        for index in 0..count {
            match read_whole(C::get(reader).map_err(|error| error.at_index(index)))? {
                Ok(member) => list.push(member),
                Err(error) => unknown = unknown.or(Some(error)),
            }
        }
        match unknown {
            Some(error) if !APART || list.len() < LOW => return Err(error),
            Some(_) => reader.left_out(),
            None => {}
        }
        Ok(list)
    }

    fn check(list: &Vec<T>) -> Result<(), Violation> {
        list.iter().enumerate().try_for_each(|(index, member)| {
            C::check(member).map_err(|violation| violation.at_index(index))
        })
    }

    #[cfg(feature = "testing")]
    fn strategy() -> proptest::strategy::BoxedStrategy<Vec<T>> {
        let most = HIGH.min(LOW + 4);
        proptest::strategy::Strategy::boxed(proptest::collection::vec(C::strategy(), LOW..=most))
    }
}

/// `VisibleString (SIZE (LOW..HIGH))` with `LOW` at least 1 and `HIGH` at least 2.
pub(crate) struct Visible<const LOW: usize, const HIGH: usize>;

impl<const LOW: usize, const HIGH: usize> Visible<LOW, HIGH> {
    fn check(text: &str) -> Result<(), Problem> {
        let count = text.chars().count();
        if !(LOW..=HIGH).contains(&count) {
            return Err(Problem::Size { count, low: LOW, high: HIGH });
        }
        match text.chars().find(|c| !(' '..='~').contains(c)) {
            Some(c) => Err(Problem::Character { code: u32::from(c) }),
            None => Ok(()),
        }
    }
}

impl<const LOW: usize, const HIGH: usize> Shape for Visible<LOW, HIGH> {
    const LEAST_BITS: usize = least_bits((HIGH - LOW) as u64) + LOW * 8;
}

impl<const LOW: usize, const HIGH: usize> Type<String> for Visible<LOW, HIGH> {
    // 95 characters need seven bits, eight in aligned PER; strings whose maximum exceeds 16 bits
    // are aligned (X.691 §30.5).
    fn put(text: &String, writer: &mut Writer) -> Result<(), EncodeError> {
        Self::check(text).map_err(EncodeError::new)?;
        writer.constrained(text.len() as u64, LOW as u64, HIGH as u64)?;
        writer.octets(text.as_bytes());
        Ok(())
    }

    fn get(reader: &mut Reader<'_>) -> Result<String, DecodeError> {
        let length = reader.constrained(LOW as u64, HIGH as u64)? as usize;
        let octets = reader.octets(length)?;
        match octets.iter().find(|octet| !(b' '..=b'~').contains(octet)) {
            Some(octet) => Err(reader.error(Problem::Character { code: u32::from(*octet) })),
            None => Ok(octets.iter().copied().map(char::from).collect()),
        }
    }

    #[cfg(feature = "testing")]
    fn strategy() -> proptest::strategy::BoxedStrategy<String> {
        use proptest::prelude::*;
        let lengths = prop_oneof![3 => LOW..=HIGH.min(16), 1 => Just(HIGH)];
        lengths
            .prop_flat_map(|length| {
                proptest::collection::vec(proptest::char::range(' ', '~'), length)
                    .prop_map(|characters| characters.into_iter().collect())
            })
            .boxed()
    }
}

/// `UTF8String (SIZE (0..HIGH))`; the size counts characters and is not PER-visible.
pub(crate) struct Utf8<const HIGH: usize>;

impl<const HIGH: usize> Utf8<HIGH> {
    fn check(text: &str) -> Result<(), Problem> {
        match text.chars().count() {
            count if count > HIGH => Err(Problem::Size { count, low: 0, high: HIGH }),
            _ => Ok(()),
        }
    }
}

impl<const HIGH: usize> Shape for Utf8<HIGH> {
    const LEAST_BITS: usize = 8;
}

impl<const HIGH: usize> Type<String> for Utf8<HIGH> {
    fn put(text: &String, writer: &mut Writer) -> Result<(), EncodeError> {
        Self::check(text).map_err(EncodeError::new)?;
        writer.length(text.len())?;
        writer.octets(text.as_bytes());
        Ok(())
    }

    fn get(reader: &mut Reader<'_>) -> Result<String, DecodeError> {
        let length = reader.length()?;
        let octets = reader.octets(length)?;
        let text = std::str::from_utf8(octets)
            .map_err(|error| reader.error(Problem::Utf8 { at: error.valid_up_to() }))?;
        Self::check(text).map_err(|problem| reader.error(problem))?;
        Ok(text.to_owned())
    }

    #[cfg(feature = "testing")]
    fn strategy() -> proptest::strategy::BoxedStrategy<String> {
        use proptest::prelude::*;
        let lengths = prop_oneof![4 => 0..=HIGH.min(16), 1 => Just(HIGH)];
        lengths
            .prop_flat_map(|length| {
                proptest::collection::vec(any::<char>(), length)
                    .prop_map(|characters| characters.into_iter().collect())
            })
            .boxed()
    }
}

macro_rules! address {
    ($address:ty, $octets:literal) => {
        /// `OCTET STRING` of fixed size, in network byte order.
        impl Shape for $address {
            const LEAST_BITS: usize = 8 * $octets;
        }

        impl Type<$address> for $address {
            fn put(value: &$address, writer: &mut Writer) -> Result<(), EncodeError> {
                writer.octets(&value.octets());
                Ok(())
            }

            fn get(reader: &mut Reader<'_>) -> Result<$address, DecodeError> {
                let mut octets = [0; $octets];
                octets.copy_from_slice(reader.octets($octets)?);
                Ok(<$address>::from(octets))
            }

            #[cfg(feature = "testing")]
            fn strategy() -> proptest::strategy::BoxedStrategy<$address> {
                let octets = proptest::arbitrary::any::<[u8; $octets]>();
                proptest::strategy::Strategy::boxed(proptest::strategy::Strategy::prop_map(
                    octets,
                    <$address>::from,
                ))
            }
        }
    };
}

address!(Ipv4Addr, 4);
address!(Ipv6Addr, 16);
