//! Scrapes of the metrics: one encoding serves all that wait for it.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use tokio::{
    sync::{Mutex, oneshot},
    time::{Instant, sleep, timeout},
};
use tonic::codegen::Bytes;

use serving::limits::{Bucket, Rate};

use super::{
    command::{Command, Commands},
    metrics::{Exposition, Format, prometheus_text},
};

/// Encodings, however many scrape.
const RATE: Rate = Rate { per_s: 20, burst: 20 };
/// Well below the default scrape timeout of Prometheus, 10 s.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The text of the metrics, or why there is none.
type Text = Result<Arc<Exposed>, String>;

/// The metrics of one moment, in the formats that were asked for.
#[derive(Debug)]
pub(super) struct Exposed {
    open_metrics: Bytes,
    prometheus: OnceLock<Bytes>,
}

impl Exposed {
    pub(super) fn in_format(&self, format: Format) -> Bytes {
        match format {
            Format::OpenMetrics => self.open_metrics.clone(),
            Format::Prometheus => self.prometheus.get_or_init(|| self.converted()).clone(),
        }
    }

    fn converted(&self) -> Bytes {
        // Encoded from a string.
        prometheus_text(str::from_utf8(&self.open_metrics).unwrap_or_default()).into()
    }
}

#[derive(Debug)]
struct Encoded {
    bucket: Bucket,
    newest: Option<(Instant, Text)>,
}

/// Encodes the metrics for all scrapes.
#[derive(Debug)]
pub(super) struct Scrapes {
    commands: Commands,
    exposition: Exposition,
    origin: Instant,
    encoded: Mutex<Encoded>,
}

impl Scrapes {
    pub(super) fn new(commands: Commands, exposition: Exposition) -> Arc<Self> {
        let encoded = Mutex::new(Encoded { bucket: Bucket::new(RATE, 0), newest: None });
        Arc::new(Self { commands, exposition, origin: Instant::now(), encoded })
    }

    /// The metrics of now or of shortly after, never of before.
    pub(super) async fn text(&self) -> Text {
        let arrived = Instant::now();
        // Those that wait for the lock meanwhile share what this one encodes.
        let mut encoded = self.encoded.lock().await;
        if let Some((started, text)) = &encoded.newest
            && *started > arrived
        {
            return text.clone();
        }
        while let Err(wait_us) = encoded.bucket.take(1, self.now_us()) {
            sleep(Duration::from_micros(wait_us)).await;
        }
        let started = Instant::now();
        let text = self.encode().await;
        encoded.newest = Some((started, text.clone()));
        text
    }

    fn now_us(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    async fn encode(&self) -> Text {
        let (reply, answer) = oneshot::channel();
        self.commands
            .send(Command::Measure { reply })
            .map_err(|status| status.message().to_owned())?;
        let Ok(Ok(measured)) = timeout(TIMEOUT, answer).await else {
            return Err("the node did not answer within 1 s".to_owned());
        };
        let text = self.exposition.text(measured).map_err(|error| error.to_string())?;
        Ok(Arc::new(Exposed { open_metrics: text.into(), prometheus: OnceLock::new() }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use futures_util::future::join_all;

    use super::*;
    use crate::{command::Scrape, metrics::GatewayMetrics};

    #[tokio::test]
    async fn scrapes_at_once_share_an_encoding_and_each_is_newer_than_its_request() {
        let (sender, commands) = mpsc::sync_channel(8);
        let exposition = Exposition::new(GatewayMetrics::default(), "test", &[], 0);
        let scrapes = Scrapes::new(Commands(Arc::new(sender)), exposition);
        let node = async {
            for measured in 1..=60 {
                let reply = loop {
                    match commands.try_recv() {
                        Ok(Command::Measure { reply }) => break reply,
                        _ => sleep(Duration::from_millis(1)).await,
                    }
                };
                let answer = Scrape { now_us: measured * 1_000_000, ..Scrape::default() };
                reply.send(answer).expect("a scrape waits");
            }
        };
        let clients = async {
            assert_eq!(time(&scrapes.text().await), 1.0);
            // The first of these began before the others waited for it.
            let many = join_all((0..100).map(|_| scrapes.text())).await;
            let newest = many.iter().map(time).fold(0.0, f64::max);
            assert!(newest <= 3.0, "{newest}");
            let began = Instant::now();
            let mut last = newest;
            while last < 60.0 {
                let now = time(&scrapes.text().await);
                assert!(now > last, "never one of before");
                last = now;
            }
            // A burst, then 20 a second at most.
            let elapsed = began.elapsed();
            assert!(elapsed >= Duration::from_millis(1_900), "{elapsed:?}");
        };
        tokio::join!(node, clients);
    }

    fn time(text: &Text) -> f64 {
        let text = text.as_ref().expect("a text").in_format(Format::OpenMetrics);
        let text = str::from_utf8(&text).expect("UTF-8");
        let line = text.lines().find(|line| line.contains("node_time_seconds_total "));
        let value = line.and_then(|line| line.split(' ').next_back()).expect("the time");
        value.parse().expect("a number")
    }
}
