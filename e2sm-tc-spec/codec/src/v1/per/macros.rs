//! The declaration of a SEQUENCE, CHOICE or ENUMERATED generates the Rust type, its JSON, encoder,
//! decoder, checks, names and test values.
//!
//! A declaration is the Rust type with these additions:
//! - `...` after the opening brace makes the ASN.1 type extensible.
//! - `field: Type as Constraint` gives the ASN.1 type of [`super::types`] if it is not the Rust
//!   type's own: `count: u16 as Int<1, 4096>`.
//! - `field: Type where 1..=1000` bounds a number more narrowly than the encoding does.
//! - Alternatives of a CHOICE start with their index and name: `2 pie => Pie { .. }`.
//! - `check function` after the closing brace adds a rule that relates components.

/// Number of extension bits: 1 for an extensible type.
macro_rules! extension_bits {
    (...) => {
        1
    };
    () => {
        0
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

/// Encodes referenced components: presence bits, then values.
macro_rules! put_components {
    ($writer:ident, { $($field:ident = $value:expr => $codec:ty),* }) => {{
        $(
            if let Some(present) = <$codec as Type<_>>::presence($value) {
                $writer.bits(u64::from(present), 1);
            }
        )*
        $(
            <$codec as Type<_>>::put($value, $writer)
                .map_err(|error| error.within(component_name!($field)))?;
        )*
    }};
}

/// Decodes components into the struct or variant at `$path`.
macro_rules! get_components {
    ($reader:ident, $extended:ident, $path:path, { $($field:ident: $codec:ty),* }) => {{
        // Each name is first bound to the presence bit of its component, then to its value.
        $(let $field = if <$codec as Shape>::OPTIONAL { $reader.bit()? } else { true };)*
        $(
            let $field = <$codec as Type<_>>::get_if($field, $reader)
                .map_err(|error| error.within(component_name!($field)))?;
        )*
        if $extended {
            $reader.skip_extensions()?;
        }
        $path { $($field),* }
    }};
}

/// A strategy of nested pairs, one level for each component.
#[cfg(feature = "testing")]
macro_rules! nested_strategies {
    () => { proptest::strategy::Just(()) };
    ($codec:ty $(, $rest:ty)*) => {
        (<$codec as Type<_>>::strategy(), nested_strategies!($($rest),*))
    };
}

/// The pattern that destructures those pairs.
#[cfg(feature = "testing")]
macro_rules! nested_pattern {
    () => { () };
    ($field:ident $(, $rest:ident)*) => { ($field, nested_pattern!($($rest),*)) };
}

/// Checks referenced components: their content, then their ranges.
macro_rules! check_components {
    ({ $($field:ident = $value:expr => $codec:ty [$($range:expr)?]),* }) => {{
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
        $($(#[$field_meta:meta])* $field:ident: $type:ty $(as $codec:ty)? $(where $range:expr)?),* $(,)?
    } $rule:tt) => {
        $($meta)*
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }
        sequence!(@impl $name, $dots,
            { $($field: wire_type!($type $(, $codec)?) [$($range)?]),* }, $rule);
    };
    (@impl $name:ident, ($($dots:tt)?),
        { $($field:ident: $codec:ty [$($range:expr)?]),* }, [$($rule:path)?]
    ) => {
        impl Shape for $name {
            const LEAST_BITS: usize =
                extension_bits!($($dots)?) $(+ <$codec as Shape>::LEAST_BITS)*;
        }

        impl Type<$name> for $name {
            fn put(value: &$name, writer: &mut Writer) -> Result<(), EncodeError> {
                writer.bits(0, extension_bits!($($dots)?));
                put_components!(writer, { $($field = &value.$field => $codec),* });
                Ok(())
            }

            fn get(reader: &mut Reader<'_>) -> Result<$name, DecodeError> {
                let extended = reader.bits(extension_bits!($($dots)?))? == 1;
                Ok(get_components!(reader, extended, $name, { $($field: $codec),* }))
            }

            fn check(value: &$name) -> Result<(), Violation> {
                check_components!({ $($field = &value.$field => $codec [$($range)?]),* });
                $($rule(value)?;)?
                Ok(())
            }

            #[cfg(feature = "testing")]
            fn strategy() -> proptest::strategy::BoxedStrategy<$name> {
                use proptest::strategy::Strategy;
                nested_strategies!($($codec),*)
                    .prop_map(|nested_pattern!($($field),*)| $name { $($field),* })
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
    ($name:ident, $variant:ident, [{ $($field:ident: $codec:ty [$($range:expr)?]),* }], $inner:ident) => {
        $name::$variant { $($field),* }
    };
}

macro_rules! alternative_least {
    ([]) => { 0 };
    ([($codec:ty)]) => { <$codec as Shape>::LEAST_BITS };
    ([{ $($field:ident: $codec:ty [$($range:expr)?]),* }]) => {
        1 $(+ <$codec as Shape>::LEAST_BITS)*
    };
}

macro_rules! put_alternative {
    ($writer:ident, [], $inner:ident) => {};
    ($writer:ident, [($codec:ty)], $inner:ident) => {
        <$codec as Type<_>>::put($inner, $writer)?
    };
    ($writer:ident, [{ $($field:ident: $codec:ty [$($range:expr)?]),* }], $inner:ident) => {{
        $writer.bits(0, 1);
        put_components!($writer, { $($field = $field => $codec),* });
    }};
}

macro_rules! get_alternative {
    ($reader:ident, $name:ident, $variant:ident, []) => {
        $name::$variant
    };
    ($reader:ident, $name:ident, $variant:ident, [($codec:ty)]) => {
        $name::$variant(<$codec as Type<_>>::get($reader)?)
    };
    ($reader:ident, $name:ident, $variant:ident,
        [{ $($field:ident: $codec:ty [$($range:expr)?]),* }]
    ) => {{
        let extended = $reader.bit()?;
        get_components!($reader, extended, $name::$variant, { $($field: $codec),* })
    }};
}

macro_rules! check_alternative {
    ([], $inner:ident) => {};
    ([($codec:ty)], $inner:ident) => {
        <$codec as Type<_>>::check($inner)?
    };
    ([{ $($field:ident: $codec:ty [$($range:expr)?]),* }], $inner:ident) => {
        check_components!({ $($field = $field => $codec [$($range)?]),* })
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
    ($name:ident, $variant:ident, [{ $($field:ident: $codec:ty [$($range:expr)?]),* }]) => {
        nested_strategies!($($codec),*)
            .prop_map(|nested_pattern!($($field),*)| $name::$variant { $($field),* })
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
        choice!(@impl $name, (), { $($index $label => $variant [($codec)]),* }, []);
    };
    (@type [$($meta:tt)*] $name:ident $dots:tt {
        $(
            $(#[$alternative_meta:meta])*
            $index:literal $label:ident => $variant:ident
            $({
                $(
                    $(#[$field_meta:meta])*
                    $field:ident: $type:ty $(as $codec:ty)? $(where $range:expr)?
                ),* $(,)?
            })?
            $(($inner:ty $(as $inner_codec:ty)?))?
        ),* $(,)?
    } $rule:tt) => {
        $($meta)*
        pub enum $name {
            $(
                $(#[$alternative_meta])*
                $variant $({ $($(#[$field_meta])* $field: $type),* })? $(($inner))?,
            )*
        }
        choice!(@names $name, { $(
            $index $label => $variant
            [
                $({ $($field: wire_type!($type $(, $codec)?) [$($range)?]),* })?
                $((wire_type!($inner $(, $inner_codec)?)))?
            ]
        ),* });
        choice!(@impl $name, $dots, { $(
            $index $label => $variant
            [
                $({ $($field: wire_type!($type $(, $codec)?) [$($range)?]),* })?
                $((wire_type!($inner $(, $inner_codec)?)))?
            ]
        ),* }, $rule);
    };
    (@names $name:ident, { $($index:literal $label:ident => $variant:ident $body:tt),* }) => {
        impl $name {
            /// Names of the alternatives, as in JSON and in declared capabilities.
            pub const KINDS: &'static [&'static str] = &[$(stringify!($label)),*];

            /// Name of this value's alternative.
            #[must_use]
            #[allow(unused_variables, reason = "the pattern names every component")]
            pub fn kind(&self) -> &'static str {
                match self {
                    $(alternative_pattern!($name, $variant, $body, inner) => stringify!($label),)*
                }
            }
        }
    };
    (@impl $name:ident, ($($dots:tt)?),
        { $($index:literal $label:ident => $variant:ident $body:tt),* }, [$($rule:path)?]
    ) => {
        impl Shape for $name {
            const LEAST_BITS: usize = extension_bits!($($dots)?)
                + least_bits(Self::LAST_INDEX)
                + smallest(&[$(alternative_least!($body)),*]);
            const LAST_INDEX: u64 = last(&[$($index),*]);
        }

        impl Type<$name> for $name {
            fn put(value: &$name, writer: &mut Writer) -> Result<(), EncodeError> {
                writer.bits(0, extension_bits!($($dots)?));
                match value {
                    $(alternative_pattern!($name, $variant, $body, inner) => {
                        writer.constrained($index, 0, <Self as Shape>::LAST_INDEX)?;
                        #[allow(unused_mut, reason = "NULL reads and writes nothing")]
                        let mut alternative = || -> Result<(), EncodeError> {
                            put_alternative!(writer, $body, inner);
                            Ok(())
                        };
                        alternative().map_err(|error| error.within(stringify!($label)))
                    })*
                }
            }

            fn get(reader: &mut Reader<'_>) -> Result<$name, DecodeError> {
                const EXPECTED: &str = concat!("one of", $(" ", stringify!($label)),*);
                if reader.bits(extension_bits!($($dots)?))? == 1 {
                    return Err(reader.error(Problem::LaterVersion { expected: EXPECTED }));
                }
                match reader.constrained(0, <Self as Shape>::LAST_INDEX)? {
                    $($index => {
                        #[allow(unused_mut, reason = "NULL reads and writes nothing")]
                        let mut alternative = || -> Result<$name, DecodeError> {
                            Ok(get_alternative!(reader, $name, $variant, $body))
                        };
                        alternative().map_err(|error| error.within(stringify!($label)))
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
                }
                $($rule(value)?;)?
                Ok(())
            }

            #[cfg(feature = "testing")]
            fn strategy() -> proptest::strategy::BoxedStrategy<$name> {
                use proptest::strategy::Strategy;
                proptest::strategy::Union::new([
                    $(alternative_strategy!($name, $variant, $body)),*
                ])
                .boxed()
            }
        }
    };
}

/// `ENUMERATED`, with the names of its values.
macro_rules! enumerated {
    ($(#[$meta:meta])* pub enum $name:ident { ... $($body:tt)* }) => {
        enumerated!(@type [$(#[$meta])*] $name (...) { $($body)* });
    };
    ($(#[$meta:meta])* pub enum $name:ident { $($body:tt)* }) => {
        enumerated!(@type [$(#[$meta])*] $name () { $($body)* });
    };
    (@type [$($meta:tt)*] $name:ident $dots:tt {
        $($(#[$value_meta:meta])* $index:literal $label:literal => $variant:ident),* $(,)?
    }) => {
        $($meta)*
        pub enum $name {
            $($(#[$value_meta])* $variant,)*
        }
        enumerated!(@impl $name, $dots, { $($index $label => $variant),* });
    };
    (@impl $name:ident, ($($dots:tt)?),
        { $($index:literal $label:literal => $variant:ident),* }
    ) => {
        impl $name {
            /// Names of the values, as in JSON.
            pub const KINDS: &'static [&'static str] = &[$($label),*];

            /// Name of this value.
            #[must_use]
            pub fn kind(&self) -> &'static str {
                match self {
                    $($name::$variant => $label,)*
                }
            }
        }

        impl Shape for $name {
            const LEAST_BITS: usize =
                extension_bits!($($dots)?) + least_bits(Self::LAST_INDEX);
            const LAST_INDEX: u64 = last(&[$($index),*]);
        }

        impl Type<$name> for $name {
            fn put(value: &$name, writer: &mut Writer) -> Result<(), EncodeError> {
                writer.bits(0, extension_bits!($($dots)?));
                let index = match value {
                    $($name::$variant => $index,)*
                };
                writer.constrained(index, 0, <Self as Shape>::LAST_INDEX)
            }

            fn get(reader: &mut Reader<'_>) -> Result<$name, DecodeError> {
                const EXPECTED: &str = concat!("one of", $(" ", $label),*);
                if reader.bits(extension_bits!($($dots)?))? == 1 {
                    return Err(reader.error(Problem::LaterVersion { expected: EXPECTED }));
                }
                match reader.constrained(0, <Self as Shape>::LAST_INDEX)? {
                    $($index => Ok($name::$variant),)*
                    value => Err(reader.error(Problem::UnknownKind { value, expected: EXPECTED })),
                }
            }

            #[cfg(feature = "testing")]
            fn strategy() -> proptest::strategy::BoxedStrategy<$name> {
                use proptest::strategy::Strategy;
                proptest::sample::select(vec![$($name::$variant),*]).boxed()
            }
        }
    };
}
