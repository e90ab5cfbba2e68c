//! The declaration of a SEQUENCE, CHOICE or ENUMERATED generates the Rust type, its JSON, encoder,
//! decoder, checks, names and test values.
//!
//! A declaration is the Rust type with these additions, each component, alternative and value ended
//! by a comma:
//! - `...` after the opening brace makes the ASN.1 type extensible; the components of an alternative
//!   always are.
//! - A second `...` stands where the marker stands in the ASN.1: what follows it was added later and
//!   is encoded as an extension addition. Added components are `Option`s. Alternatives and values are
//!   numbered from 0 before the marker and from 0 again behind it.
//! - `field: Type as Constraint` gives the ASN.1 type of [`super::types`] if it is not the Rust
//!   type's own: `count: u16 as Int<1, 4096>`.
//! - `field: Type where 1..=1000` bounds a number more narrowly than the encoding does.
//! - Alternatives of a CHOICE start with their index and name: `2 pie => Pie { .. }`.
//! - `check function` after the closing brace adds a rule that relates components.
//! - `else Name` after the closing brace of an ENUMERATED adds a variant for values of a later version.
//!   It is never sent.

/// Number of extension bits: 1 for an extensible type.
macro_rules! extension_bits {
    (...) => {
        1
    };
    () => {
        0
    };
}

/// Fewest bits of an extension addition, for an extensible type.
macro_rules! least_addition {
    (..., $bits:expr) => {
        $bits
    };
}

/// The ASN.1 type of a component: after `as`, else the Rust type's own.
macro_rules! wire_type {
    ($type:ty) => {
        $type
    };
    ($type:ty, $codec:ty) => {
        $codec
    };
}

/// The name of a component in paths and in JSON.
macro_rules! component_name {
    (rule) => {
        "match"
    };
    ($field:ident) => {
        stringify!($field)
    };
}

/// Encodes referenced components: extension bit, presence bits, values, extension additions.
macro_rules! put_components {
    ($writer:ident, $extension_bits:expr,
        { $($field:ident = $value:expr => $codec:ty),* }
        { $($added:ident = $added_value:expr => $added_codec:ty),* }
    ) => {{
        let added: &[bool] = &[
            $(<$added_codec as Type<_>>::presence($added_value) == Some(true)),*
        ];
        // Up to the last one present, so that a message is encoded alike by all later versions.
        let added = up_to_last_present(added);
        $writer.bits(u64::from(!added.is_empty()), $extension_bits);
        $(
            if let Some(present) = <$codec as Type<_>>::presence($value) {
                $writer.bits(u64::from(present), 1);
            }
        )*
        $(
            <$codec as Type<_>>::put($value, $writer)
                .map_err(|error| error.within(component_name!($field)))?;
        )*
        $writer.additions(added)?;
        $(
            if <$added_codec as Type<_>>::presence($added_value) == Some(true) {
                $writer
                    .open_type(|writer| <$added_codec as Type<_>>::put($added_value, writer))
                    .map_err(|error| error.within(component_name!($added)))?;
            }
        )*
    }};
}

/// Decodes components into the struct or variant at `$path`.
///
/// All are read before the first that this version does not know is reported, so that the reader
/// then stands behind the last.
macro_rules! get_components {
    ($reader:ident, $extension_bits:expr, $path:path,
        { $($field:ident: $codec:ty),* } { $($added:ident: $added_codec:ty),* }
    ) => {{
        $(const { assert!(<$added_codec as Shape>::OPTIONAL, "added components are optional") })*
        let extended = $reader.bits($extension_bits)? == 1;
        // Each name is first bound to the presence bit of its component, then to its value.
        $(let $field = if <$codec as Shape>::OPTIONAL { $reader.bit()? } else { true };)*
        $(
            let $field = <$codec as Type<_>>::get_if($field, $reader)
                .map_err(|error| error.within(component_name!($field)));
            let $field = read_whole($field)?;
        )*
        #[allow(unused_mut, reason = "there may be no added component")]
        let mut additions = $reader.additions(extended)?;
        $(
            let $added = match additions.next_present() {
                true => $reader.open_type(<$added_codec as Type<_>>::get),
                false => <$added_codec as Type<_>>::get_if(false, $reader),
            };
            let $added = $added.map_err(|error| error.within(component_name!($added)));
            let $added = read_whole($added)?;
        )*
        $reader.skip_additions(additions)?;
        $path { $($field: $field?,)* $($added: $added?,)* }
    }};
}

/// A strategy of nested pairs, one level for each component.
#[cfg(feature = "testing")]
macro_rules! nested_strategies {
    () => { proptest::strategy::Just(()) };
    ($codec:ty, $($rest:ty,)*) => {
        (<$codec as Type<_>>::strategy(), nested_strategies!($($rest,)*))
    };
}

/// The pattern that destructures those pairs.
#[cfg(feature = "testing")]
macro_rules! nested_pattern {
    () => { () };
    ($field:ident, $($rest:ident,)*) => { ($field, nested_pattern!($($rest,)*)) };
}

/// Checks referenced components: their content, then their ranges.
macro_rules! check_components {
    ({ $($field:ident = $value:expr => $codec:ty [$($range:expr)?],)* }) => {{
        $(
            <$codec as Type<_>>::check($value)
                $(.and_then(|()| within($value, &$range)))?
                .map_err(|violation| violation.within(component_name!($field)))?;
        )*
    }};
}

/// `SEQUENCE`.
macro_rules! sequence {
    ($(#[$meta:meta])* pub struct $name:ident { ... $($body:tt)* } $(check $rule:path)?) => {
        sequence!(@type [$(#[$meta])*] $name (...) { $($body)* } [$($rule)?]);
    };
    ($(#[$meta:meta])* pub struct $name:ident { $($body:tt)* } $(check $rule:path)?) => {
        sequence!(@type [$(#[$meta])*] $name () { $($body)* } [$($rule)?]);
    };
    (@type [$($meta:tt)*] $name:ident $dots:tt {
        $($(#[$field_meta:meta])* $field:ident: $type:ty $(as $codec:ty)? $(where $range:expr)?,)*
        $(... $(
            $(#[$added_meta:meta])*
            $added:ident: $added_type:ty $(as $added_codec:ty)? $(where $added_range:expr)?,
        )*)?
    } $rule:tt) => {
        $($meta)*
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
            $($(
                $(#[$added_meta])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $added: $added_type,
            )*)?
        }
        sequence!(@impl $name, $dots,
            { $($field: wire_type!($type $(, $codec)?) [$($range)?]),* }
            { $($($added: wire_type!($added_type $(, $added_codec)?) [$($added_range)?]),*)? },
            $rule);
    };
    (@impl $name:ident, ($($dots:tt)?),
        { $($field:ident: $codec:ty [$($range:expr)?]),* }
        { $($added:ident: $added_codec:ty [$($added_range:expr)?]),* },
        [$($rule:path)?]
    ) => {
        impl Shape for $name {
            const LEAST_BITS: usize =
                extension_bits!($($dots)?) $(+ <$codec as Shape>::LEAST_BITS)*;
        }

        impl Type<$name> for $name {
            fn put(value: &$name, writer: &mut Writer) -> Result<(), EncodeError> {
                put_components!(writer, extension_bits!($($dots)?),
                    { $($field = &value.$field => $codec),* }
                    { $($added = &value.$added => $added_codec),* });
                Ok(())
            }

            fn get(reader: &mut Reader<'_>) -> Result<$name, DecodeError> {
                Ok(get_components!(reader, extension_bits!($($dots)?), $name,
                    { $($field: $codec),* } { $($added: $added_codec),* }))
            }

            fn check(value: &$name) -> Result<(), Violation> {
                check_components!({
                    $($field = &value.$field => $codec [$($range)?],)*
                    $($added = &value.$added => $added_codec [$($added_range)?],)*
                });
                $($rule(value)?;)?
                Ok(())
            }

            #[cfg(feature = "testing")]
            fn strategy() -> proptest::strategy::BoxedStrategy<$name> {
                use proptest::strategy::Strategy;
                nested_strategies!($($codec,)* $($added_codec,)*)
                    .prop_map(|nested_pattern!($($field,)* $($added,)*)| {
                        $name { $($field,)* $($added,)* }
                    })
                    .boxed()
            }
        }
    };
}

macro_rules! alternative_pattern {
    ($name:ident, $variant:ident, [], $inner:ident) => {
        $name::$variant
    };
    ($name:ident, $variant:ident, [($codec:ty)], $inner:ident) => {
        $name::$variant($inner)
    };
    ($name:ident, $variant:ident, [
        { $($field:ident: $codec:ty [$($range:expr)?]),* }
        { $($added:ident: $added_codec:ty [$($added_range:expr)?]),* }
    ], $inner:ident) => {
        $name::$variant { $($field,)* $($added,)* }
    };
}

macro_rules! alternative_least {
    ([]) => { 0 };
    ([($codec:ty)]) => { <$codec as Shape>::LEAST_BITS };
    ([{ $($field:ident: $codec:ty [$($range:expr)?]),* } $added:tt]) => {
        1 $(+ <$codec as Shape>::LEAST_BITS)*
    };
}

/// A function that encodes the content of an alternative.
macro_rules! put_alternative {
    ([], $inner:ident) => {
        |_: &mut Writer| Ok(())
    };
    ([($codec:ty)], $inner:ident) => {
        |writer: &mut Writer| <$codec as Type<_>>::put($inner, writer)
    };
    ([
        { $($field:ident: $codec:ty [$($range:expr)?]),* }
        { $($added:ident: $added_codec:ty [$($added_range:expr)?]),* }
    ], $inner:ident) => {
        |writer: &mut Writer| {
            put_components!(writer, 1,
                { $($field = $field => $codec),* } { $($added = $added => $added_codec),* });
            Ok(())
        }
    };
}

/// A function that decodes the content of an alternative.
macro_rules! get_alternative {
    ($name:ident, $variant:ident, []) => {
        |_: &mut Reader<'_>| Ok($name::$variant)
    };
    ($name:ident, $variant:ident, [($codec:ty)]) => {
        |reader: &mut Reader<'_>| <$codec as Type<_>>::get(reader).map($name::$variant)
    };
    ($name:ident, $variant:ident, [
        { $($field:ident: $codec:ty [$($range:expr)?]),* }
        { $($added:ident: $added_codec:ty [$($added_range:expr)?]),* }
    ]) => {
        |reader: &mut Reader<'_>| {
            Ok(get_components!(reader, 1, $name::$variant,
                { $($field: $codec),* } { $($added: $added_codec),* }))
        }
    };
}

macro_rules! check_alternative {
    ([], $inner:ident) => {};
    ([($codec:ty)], $inner:ident) => {
        <$codec as Type<_>>::check($inner)?
    };
    ([
        { $($field:ident: $codec:ty [$($range:expr)?]),* }
        { $($added:ident: $added_codec:ty [$($added_range:expr)?]),* }
    ], $inner:ident) => {
        check_components!({
            $($field = $field => $codec [$($range)?],)*
            $($added = $added => $added_codec [$($added_range)?],)*
        })
    };
}

#[cfg(feature = "testing")]
macro_rules! alternative_strategy {
    ($name:ident, $variant:ident, []) => {
        proptest::strategy::Just($name::$variant).boxed()
    };
    ($name:ident, $variant:ident, [($codec:ty)]) => {
        <$codec as Type<_>>::strategy().prop_map($name::$variant).boxed()
    };
    ($name:ident, $variant:ident, [
        { $($field:ident: $codec:ty [$($range:expr)?]),* }
        { $($added:ident: $added_codec:ty [$($added_range:expr)?]),* }
    ]) => {
        nested_strategies!($($codec,)* $($added_codec,)*)
            .prop_map(|nested_pattern!($($field,)* $($added,)*)| {
                $name::$variant { $($field,)* $($added,)* }
            })
            .boxed()
    };
}

/// `CHOICE`, with the names of its alternatives.
macro_rules! choice {
    ($(#[$meta:meta])* pub enum $name:ident { ... $($body:tt)* } $(check $rule:path)?) => {
        choice!(@type [$(#[$meta])*] $name (...) { $($body)* } [$($rule)?]);
    };
    ($(#[$meta:meta])* pub enum $name:ident { $($body:tt)* } $(check $rule:path)?) => {
        choice!(@type [$(#[$meta])*] $name () { $($body)* } [$($rule)?]);
    };
    // A type of another crate: no extension, no names.
    (foreign $name:ident { $($index:literal $label:ident => $variant:ident($codec:ty)),* $(,)? }) => {
        choice!(@impl $name, (), { $($index $label => $variant [($codec)]),* } {}, []);
    };
    (@type [$($meta:tt)*] $name:ident $dots:tt {
        $(
            $(#[$alternative_meta:meta])*
            $index:literal $label:ident => $variant:ident
            $({
                $(
                    $(#[$field_meta:meta])*
                    $field:ident: $type:ty $(as $codec:ty)? $(where $range:expr)?,
                )*
                $(... $(
                    $(#[$added_meta:meta])*
                    $added:ident: $added_type:ty $(as $added_codec:ty)? $(where $added_range:expr)?,
                )*)?
            })?
            $(($inner:ty $(as $inner_codec:ty)?))?
            ,
        )*
        $(... $(
            $(#[$later_meta:meta])*
            $later_index:literal $later_label:ident => $later:ident
            $({
                $(
                    $(#[$later_field_meta:meta])*
                    $later_field:ident: $later_type:ty
                    $(as $later_codec:ty)? $(where $later_range:expr)?,
                )*
                $(... $(
                    $(#[$later_added_meta:meta])*
                    $later_added:ident: $later_added_type:ty
                    $(as $later_added_codec:ty)? $(where $later_added_range:expr)?,
                )*)?
            })?
            $(($later_inner:ty $(as $later_inner_codec:ty)?))?
            ,
        )*)?
    } $rule:tt) => {
        $($meta)*
        pub enum $name {
            $(
                $(#[$alternative_meta])*
                $variant
                $({
                    $($(#[$field_meta])* $field: $type,)*
                    $($(
                        $(#[$added_meta])*
                        #[serde(default, skip_serializing_if = "Option::is_none")]
                        $added: $added_type,
                    )*)?
                })?
                $(($inner))?,
            )*
            $($(
                $(#[$later_meta])*
                $later
                $({
                    $($(#[$later_field_meta])* $later_field: $later_type,)*
                    $($(
                        $(#[$later_added_meta])*
                        #[serde(default, skip_serializing_if = "Option::is_none")]
                        $later_added: $later_added_type,
                    )*)?
                })?
                $(($later_inner))?,
            )*)?
        }
        choice!(@named $name, $dots, { $(
            $index $label => $variant
            [
                $(
                    { $($field: wire_type!($type $(, $codec)?) [$($range)?]),* }
                    { $($($added: wire_type!($added_type $(, $added_codec)?) [$($added_range)?]),*)? }
                )?
                $((wire_type!($inner $(, $inner_codec)?)))?
            ]
        ),* } { $($(
            $later_index $later_label => $later
            [
                $(
                    { $($later_field:
                        wire_type!($later_type $(, $later_codec)?) [$($later_range)?]),* }
                    { $($($later_added:
                        wire_type!($later_added_type $(, $later_added_codec)?)
                        [$($later_added_range)?]),*)? }
                )?
                $((wire_type!($later_inner $(, $later_inner_codec)?)))?
            ]
        ),*)? }, $rule);
    };
    (@named $name:ident, $dots:tt,
        { $($index:literal $label:ident => $variant:ident $body:tt),* }
        { $($later_index:literal $later_label:ident => $later:ident $later_body:tt),* },
        $rule:tt
    ) => {
        impl $name {
            /// Names of the alternatives, as in JSON and in declared capabilities.
            pub const KINDS: &'static [&'static str] =
                &[$(stringify!($label),)* $(stringify!($later_label),)*];

            /// Name of this value's alternative.
            #[must_use]
            #[allow(unused_variables, reason = "the pattern names every component")]
            pub fn kind(&self) -> &'static str {
                match self {
                    $(alternative_pattern!($name, $variant, $body, inner) => stringify!($label),)*
                    $(alternative_pattern!($name, $later, $later_body, inner) => {
                        stringify!($later_label)
                    })*
                }
            }
        }
        choice!(@impl $name, $dots,
            { $($index $label => $variant $body),* }
            { $($later_index $later_label => $later $later_body),* },
            $rule);
    };
    (@impl $name:ident, ($($dots:tt)?),
        { $($index:literal $label:ident => $variant:ident $body:tt),* }
        { $($later_index:literal $later_label:ident => $later:ident $later_body:tt),* },
        [$($rule:path)?]
    ) => {
        impl Shape for $name {
            const LEAST_BITS: usize = extension_bits!($($dots)?)
                + smallest(&[
                    $(least_bits(Self::LAST_INDEX) + alternative_least!($body),)*
                    // Index and open type.
                    $(least_addition!($dots, 7 + 8 + 8),)?
                ]);
            const LAST_INDEX: u64 = last(&[$($index),*]);
        }

        impl Type<$name> for $name {
            fn put(value: &$name, writer: &mut Writer) -> Result<(), EncodeError> {
                const EXTENSION_BITS: u32 = extension_bits!($($dots)?);
                match value {
                    $(alternative_pattern!($name, $variant, $body, inner) => {
                        writer.bits(0, EXTENSION_BITS);
                        writer.constrained($index, 0, <Self as Shape>::LAST_INDEX)?;
                        let content = put_alternative!($body, inner);
                        content(writer).map_err(|error: EncodeError| error.within(stringify!($label)))
                    })*
                    $(alternative_pattern!($name, $later, $later_body, inner) => {
                        writer.bits(1, EXTENSION_BITS);
                        writer.normally_small($later_index)?;
                        let content = put_alternative!($later_body, inner);
                        writer
                            .open_type(content)
                            .map_err(|error| error.within(stringify!($later_label)))
                    })*
                }
            }

            fn get(reader: &mut Reader<'_>) -> Result<$name, DecodeError> {
                const EXPECTED: &str =
                    concat!("one of", $(" ", stringify!($label),)* $(" ", stringify!($later_label),)*);
                const { in_order(&[$($later_index),*]) }
                if reader.bits(extension_bits!($($dots)?))? == 1 {
                    return match reader.normally_small()? {
                        $($later_index => reader
                            .open_type(get_alternative!($name, $later, $later_body))
                            .map_err(|error| error.within(stringify!($later_label))),)*
                        _ => reader.skip_open_type().and_then(|()| {
                            Err(reader.error(Problem::LaterVersion { expected: EXPECTED }))
                        }),
                    };
                }
                match reader.constrained(0, <Self as Shape>::LAST_INDEX)? {
                    $($index => {
                        let content = get_alternative!($name, $variant, $body);
                        content(reader)
                            .map_err(|error: DecodeError| error.within(stringify!($label)))
                    })*
                    value => Err(reader.error(Problem::UnknownKind { value, expected: EXPECTED })),
                }
            }

            #[allow(unused_variables, reason = "the pattern names every component")]
            fn check(value: &$name) -> Result<(), Violation> {
                match value {
                    $(alternative_pattern!($name, $variant, $body, inner) => {
                        #[allow(unused_mut, reason = "NULL has nothing to check")]
                        let mut alternative = || -> Result<(), Violation> {
                            check_alternative!($body, inner);
                            Ok(())
                        };
                        alternative().map_err(|violation| violation.within(stringify!($label)))?;
                    })*
                    $(alternative_pattern!($name, $later, $later_body, inner) => {
                        #[allow(unused_mut, reason = "NULL has nothing to check")]
                        let mut alternative = || -> Result<(), Violation> {
                            check_alternative!($later_body, inner);
                            Ok(())
                        };
                        alternative()
                            .map_err(|violation| violation.within(stringify!($later_label)))?;
                    })*
                }
                $($rule(value)?;)?
                Ok(())
            }

            #[cfg(feature = "testing")]
            fn strategy() -> proptest::strategy::BoxedStrategy<$name> {
                use proptest::strategy::Strategy;
                proptest::strategy::Union::new([
                    $(alternative_strategy!($name, $variant, $body),)*
                    $(alternative_strategy!($name, $later, $later_body),)*
                ])
                .boxed()
            }
        }
    };
}

/// `ENUMERATED`, with the names of its values.
macro_rules! enumerated {
    ($(#[$meta:meta])* pub enum $name:ident { ... $($body:tt)* } $(else $unknown:tt)?) => {
        enumerated!(@type [$(#[$meta])*] $name (...) { $($body)* } [$($unknown)?]);
    };
    ($(#[$meta:meta])* pub enum $name:ident { $($body:tt)* }) => {
        enumerated!(@type [$(#[$meta])*] $name () { $($body)* } []);
    };
    (@type [$($meta:tt)*] $name:ident $dots:tt {
        $($(#[$value_meta:meta])* $index:literal $label:literal => $variant:ident,)*
        $(... $(
            $(#[$later_meta:meta])* $later_index:literal $later_label:literal => $later:ident,
        )*)?
    } [$({ $(#[$unknown_meta:meta])* $unknown_label:literal => $unknown:ident })?]) => {
        $($meta)*
        pub enum $name {
            $($(#[$value_meta])* $variant,)*
            $($($(#[$later_meta])* $later,)*)?
            $($(#[$unknown_meta])* $unknown,)?
        }
        enumerated!(@impl $name, $dots,
            { $($index $label => $variant),* }
            { $($($later_index $later_label => $later),*)? },
            [$($unknown_label => $unknown)?]);
    };
    (@impl $name:ident, ($($dots:tt)?),
        { $($index:literal $label:literal => $variant:ident),* }
        { $($later_index:literal $later_label:literal => $later:ident),* },
        [$($unknown_label:literal => $unknown:ident)?]
    ) => {
        impl $name {
            /// Names of the values, as in JSON.
            pub const KINDS: &'static [&'static str] = &[$($label,)* $($later_label,)*];

            /// Name of this value.
            #[must_use]
            pub fn kind(&self) -> &'static str {
                match self {
                    $($name::$variant => $label,)*
                    $($name::$later => $later_label,)*
                    $($name::$unknown => $unknown_label,)?
                }
            }
        }

        impl Shape for $name {
            const LEAST_BITS: usize = extension_bits!($($dots)?)
                + smallest(&[least_bits(Self::LAST_INDEX) $(, least_addition!($dots, 7))?]);
            const LAST_INDEX: u64 = last(&[$($index),*]);
        }

        impl Type<$name> for $name {
            fn put(value: &$name, writer: &mut Writer) -> Result<(), EncodeError> {
                const EXTENSION_BITS: u32 = extension_bits!($($dots)?);
                match value {
                    $($name::$variant => {
                        writer.bits(0, EXTENSION_BITS);
                        writer.constrained($index, 0, <Self as Shape>::LAST_INDEX)
                    })*
                    $($name::$later => {
                        writer.bits(1, EXTENSION_BITS);
                        writer.normally_small($later_index)
                    })*
                    $($name::$unknown => Err(EncodeError::new(Problem::NeverSent)),)?
                }
            }

            fn get(reader: &mut Reader<'_>) -> Result<$name, DecodeError> {
                const EXPECTED: &str = concat!("one of", $(" ", $label,)* $(" ", $later_label,)*);
                const { in_order(&[$($later_index),*]) }
                if reader.bits(extension_bits!($($dots)?))? == 1 {
                    return match reader.normally_small()? {
                        $($later_index => Ok($name::$later),)*
                        $(_ => {
                            reader.left_out();
                            Ok($name::$unknown)
                        })?
                        #[allow(unreachable_patterns, reason = "`else` covers the rest")]
                        _ => Err(reader.error(Problem::LaterVersion { expected: EXPECTED })),
                    };
                }
                match reader.constrained(0, <Self as Shape>::LAST_INDEX)? {
                    $($index => Ok($name::$variant),)*
                    value => Err(reader.error(Problem::UnknownKind { value, expected: EXPECTED })),
                }
            }

            #[cfg(feature = "testing")]
            fn strategy() -> proptest::strategy::BoxedStrategy<$name> {
                use proptest::strategy::Strategy;
                proptest::sample::select(vec![$($name::$variant,)* $($name::$later,)*]).boxed()
            }
        }
    };
}
