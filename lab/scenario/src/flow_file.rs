//! Reading a flow of the file, and its JSON schema.
//!
//! A flow is one mapping: the keys of [`FlowKeys`], `kind`, and the keys of the application of that
//! kind. `tcp`, `quic`, `udp_cbr`, `voip`, `ping` and `host` have theirs directly in the mapping, the others in
//! a section with the name of the kind; `web`, `video`, `download`, `screen` and `responsiveness` have the keys
//! of `tcp` beside their section.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use traffic::tcp::congestion::CongestionConfig;
use traffic::{
    AppConfig, CallConfig, CloudGameConfig, CongestionKeys, DownloadConfig, Form, GameConfig,
    HostConfig, HttpConfig, HttpVersion, PingConfig, QuicConfig, ResponsivenessConfig,
    ScreenConfig, SproutConfig, TcpConfig, UdpCbrConfig, VideoConfig, VivaceConfig, VoipConfig,
    WebConfig,
};

use super::error::Violation;
use super::flow::{Flow, FlowKeys};

const KINDS: [&str; 16] = [
    "tcp",
    "quic",
    "udp_cbr",
    "voip",
    "ping",
    "game",
    "cloud_game",
    "call",
    "web",
    "video",
    "download",
    "screen",
    "sprout",
    "vivace",
    "responsiveness",
    "host",
];

/// Keys of kinds that have all of theirs in their section.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoKeys {}

/// Keys of a TCP connection and its congestion control, as the schema has them.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "a schema alone")]
struct TcpKeys {
    #[schemars(flatten)]
    connection: TcpConfig,
    #[schemars(flatten)]
    congestion: CongestionKeys,
}

/// Keys of a QUIC connection and its congestion control, as the schema has them.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "a schema alone")]
struct QuicKeys {
    #[schemars(flatten)]
    connection: QuicConfig,
    #[schemars(flatten)]
    congestion: CongestionKeys,
}

impl Flow {
    /// Reads a flow of the file.
    ///
    /// # Errors
    /// The first key that is unknown, missing or of another type, with its path within the flow.
    pub(crate) fn read(value: &Value) -> Result<Self, Violation> {
        let Some(map) = value.as_object() else {
            return Err(Violation::new("", "expected a mapping with keys such as name and kind"));
        };
        let mut own = Map::new();
        let mut take = |path: serde_ignored::Path<'_>| {
            let key = path.to_string();
            if let Some(value) = map.get(&key) {
                own.insert(key, value.clone());
            }
        };
        let mut track = serde_path_to_error::Track::new();
        let deserializer = serde_path_to_error::Deserializer::new(value, &mut track);
        let keys = FlowKeys::deserialize(serde_ignored::Deserializer::new(deserializer, &mut take))
            .map_err(|error| Violation::from_serde(&track.path(), &error))?;
        let kind = own.remove("kind").unwrap_or_default();
        let Some(kind) = KINDS.into_iter().find(|known| kind == *known) else {
            let (path, found) = match kind {
                Value::Null => ("", "missing key 'kind'".to_owned()),
                Value::String(name) => ("kind", format!("unknown value '{name}'")),
                other => ("kind", format!("unknown value {other}")),
            };
            let message = format!("{found}; expected one of '{}'", KINDS.join("', '"));
            return Err(Violation::new(path, message));
        };
        Ok(Self { keys, app: app(kind, own)? })
    }
}

/// The application of this kind, from its own keys.
fn app(kind: &str, mut own: Map<String, Value>) -> Result<AppConfig, Violation> {
    Ok(match kind {
        "tcp" => AppConfig::Tcp(tcp(kind, &[], own)?),
        "quic" => AppConfig::Quic(quic(kind, own)?),
        "udp_cbr" => AppConfig::UdpCbr(direct(kind, &[], own)?),
        "voip" => AppConfig::Voip(direct(kind, &[], own)?),
        "ping" => AppConfig::Ping(direct(kind, &[], own)?),
        "host" => AppConfig::Host(direct(kind, &[], own)?),
        "web" => {
            let web: WebConfig = section(kind, &mut own)?;
            let tcp = http(kind, web.http, own)?;
            AppConfig::Web { web, tcp }
        }
        "video" => {
            let video: VideoConfig = section(kind, &mut own)?;
            let tcp = http(kind, video.http, own)?;
            AppConfig::Video { video, tcp }
        }
        "download" => AppConfig::Download {
            download: section(kind, &mut own)?,
            tcp: tcp(kind, &[kind], own)?,
        },
        "screen" => {
            AppConfig::Screen { screen: section(kind, &mut own)?, tcp: tcp(kind, &[kind], own)? }
        }
        "responsiveness" => AppConfig::Responsiveness {
            test: section(kind, &mut own)?,
            tcp: tcp(kind, &[kind], own)?,
        },
        _ => {
            let mut rest = own;
            let app = match kind {
                "game" => AppConfig::Game(section(kind, &mut rest)?),
                "cloud_game" => AppConfig::CloudGame(section(kind, &mut rest)?),
                "call" => AppConfig::Call(section(kind, &mut rest)?),
                "sprout" => AppConfig::Sprout(section(kind, &mut rest)?),
                _ => AppConfig::Vivace(section(kind, &mut rest)?),
            };
            let NoKeys {} = direct(kind, &[kind], rest)?;
            app
        }
    })
}

/// The section with the name of the kind; defaults if it is missing.
fn section<T: DeserializeOwned>(kind: &str, own: &mut Map<String, Value>) -> Result<T, Violation> {
    let value = own.remove(kind).unwrap_or_else(|| json!({}));
    serde_path_to_error::deserialize(value).map_err(|error| {
        let inner = Violation::from_serde(error.path(), error.inner());
        let path =
            if inner.path.is_empty() { kind.into() } else { format!("{kind}.{}", inner.path) };
        Violation::new(path, inner.message)
    })
}

/// The keys of a TCP connection directly in the mapping of the flow.
fn tcp(kind: &str, sections: &[&str], own: Map<String, Value>) -> Result<TcpConfig, Violation> {
    connection(kind, sections, own, Form::Linux)
}

/// The keys of the connections of an application over HTTP: TCP is that of Linux, QUIC that of the RFCs, whose
/// receiver acknowledges each second packet (RFC 9000 §13.2.2).
fn http(kind: &str, http: HttpConfig, own: Map<String, Value>) -> Result<TcpConfig, Violation> {
    if http.version != HttpVersion::V3 {
        return connection(kind, &[kind], own, Form::Linux);
    }
    let quic = connection(kind, &[kind], own, Form::Rfc)?;
    Ok(TcpConfig { ack_thinning: false, ..quic })
}

fn connection(
    kind: &str,
    sections: &[&str],
    own: Map<String, Value>,
    default: Form,
) -> Result<TcpConfig, Violation> {
    let (tcp, congestion) = with_congestion::<_, TcpKeys>(kind, sections, own, default)?;
    Ok(TcpConfig { congestion, ..tcp })
}

/// The keys of a QUIC connection directly in the mapping of the flow.
fn quic(kind: &str, own: Map<String, Value>) -> Result<QuicConfig, Violation> {
    let (quic, congestion) = with_congestion::<_, QuicKeys>(kind, &[], own, Form::Rfc)?;
    Ok(QuicConfig { congestion, ..quic })
}

/// The keys of a connection and those of its congestion control beside them.
fn with_congestion<T: DeserializeOwned, Keys: JsonSchema>(
    kind: &str,
    sections: &[&str],
    own: Map<String, Value>,
    default: Form,
) -> Result<(T, CongestionConfig), Violation> {
    let names = key_names::<CongestionKeys>();
    let (congestion, others): (Map<_, _>, Map<_, _>) =
        own.into_iter().partition(|(name, _)| names.contains(name));
    let congestion: CongestionKeys = read::<_, Keys>(kind, sections, congestion)?;
    let connection = read::<T, Keys>(kind, sections, others)?;
    let congestion = congestion.config(default).map_err(|error| {
        Violation::new(error.field, format!("{}; expected {}", error.value, error.expected))
    })?;
    Ok((connection, congestion))
}

/// The keys directly in the mapping of the flow; `sections` are allowed beside them.
fn direct<T: DeserializeOwned + JsonSchema>(
    kind: &str,
    sections: &[&str],
    own: Map<String, Value>,
) -> Result<T, Violation> {
    read::<T, T>(kind, sections, own)
}

/// Some of the keys `Keys`, which are directly in the mapping of the flow beside `sections`.
fn read<T: DeserializeOwned, Keys: JsonSchema>(
    kind: &str,
    sections: &[&str],
    own: Map<String, Value>,
) -> Result<T, Violation> {
    let names: Vec<String> = own.keys().cloned().collect();
    serde_path_to_error::deserialize(Value::Object(own)).map_err(|error| {
        let mut known: Vec<String> = sections.iter().map(|&name| name.to_owned()).collect();
        known.extend(key_names::<Keys>());
        let Some(unknown) = names.into_iter().find(|name| !known.contains(name)) else {
            return Violation::from_serde(error.path(), error.inner());
        };
        known.extend(key_names::<FlowKeys>());
        let list = known.join("', '");
        let message = format!("unknown key '{unknown}' for kind {kind}; expected one of '{list}'");
        Violation::new(unknown, message)
    })
}

fn key_names<T: JsonSchema>() -> Vec<String> {
    let schema = T::json_schema(&mut SchemaGenerator::default());
    schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::keys)
        .cloned()
        .collect()
}

impl<'de> Deserialize<'de> for Flow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::read(&value)
            .map_err(|wrong| D::Error::custom(format!("{}: {}", wrong.path, wrong.message)))
    }
}

impl JsonSchema for Flow {
    fn schema_name() -> Cow<'static, str> {
        "Flow".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let variants = [
            variant::<TcpKeys>("tcp", None, generator),
            variant::<QuicKeys>("quic", None, generator),
            variant::<UdpCbrConfig>("udp_cbr", None, generator),
            variant::<VoipConfig>("voip", None, generator),
            variant::<PingConfig>("ping", None, generator),
            with_section::<GameConfig, NoKeys>("game", generator),
            with_section::<CloudGameConfig, NoKeys>("cloud_game", generator),
            with_section::<CallConfig, NoKeys>("call", generator),
            with_section::<WebConfig, TcpKeys>("web", generator),
            with_section::<VideoConfig, TcpKeys>("video", generator),
            with_section::<DownloadConfig, TcpKeys>("download", generator),
            with_section::<ScreenConfig, TcpKeys>("screen", generator),
            with_section::<ResponsivenessConfig, TcpKeys>("responsiveness", generator),
            with_section::<SproutConfig, NoKeys>("sprout", generator),
            with_section::<VivaceConfig, NoKeys>("vivace", generator),
            variant::<HostConfig>("host", None, generator),
        ];
        json_schema!({ "description": "A flow between a server and a UE.", "oneOf": variants })
    }
}

fn with_section<S: JsonSchema, T: JsonSchema>(
    kind: &str,
    generator: &mut SchemaGenerator,
) -> Value {
    let section = generator.subschema_for::<S>();
    variant::<T>(kind, Some(section), generator)
}

/// The schema of flows of one kind: common keys, those of `T`, and a section.
fn variant<T: JsonSchema>(
    kind: &str,
    section: Option<Schema>,
    generator: &mut SchemaGenerator,
) -> Value {
    let mut properties = Map::from_iter([("kind".to_owned(), json!({ "const": kind }))]);
    let mut required = vec![json!("kind")];
    for schema in [FlowKeys::json_schema(generator), T::json_schema(generator)] {
        if let Some(Value::Object(more)) = schema.get("properties") {
            properties.extend(more.clone());
        }
        if let Some(Value::Array(more)) = schema.get("required") {
            required.extend(more.clone());
        }
    }
    if let Some(section) = section {
        properties.insert(kind.to_owned(), section.to_value());
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}
