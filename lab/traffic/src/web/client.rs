//! The browser at the UE.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use super::{Page, WebConfig};
use crate::endpoint::{Endpoint, FlowContext, Measured};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::stats::{Arrivals, DelayRecorder, Figures};
use crate::stream::{Connections, RequestClient};

/// Progress of a page.
#[derive(Debug, Clone)]
enum State {
    /// The user reads the page.
    Reading { until_us: u64 },
    /// The main object is requested.
    Main(Loading),
    /// The main object is parsed.
    Parsing { loading: Loading, until_us: u64 },
    /// Embedded objects are requested or wait for a connection.
    Embedded { loading: Loading, waiting: VecDeque<NonZeroU32>, in_flight: usize },
    /// Stopped.
    Done,
}

/// A page that is loading.
#[derive(Debug, Clone)]
struct Loading {
    page: Page,
    started_us: u64,
}

/// Loads page after page.
#[derive(Debug, Clone)]
pub struct WebClient {
    config: WebConfig,
    random: Rng,
    client: RequestClient,
    stop_us: Option<u64>,
    state: State,
    pages_started: u64,
    objects: u64,
    loaded_bytes: u64,
    page_load: DelayRecorder,
    object_load: DelayRecorder,
    download: Option<Download>,
}

/// A file that is downloaded beside the pages, again and again.
#[derive(Debug, Clone)]
struct Download {
    bytes: NonZeroU32,
    start_us: u64,
    /// Its stream.
    place: Option<usize>,
    /// Complete ones.
    files: u64,
    /// Time at which a packet arrived last.
    last_us: u64,
}

impl WebClient {
    pub(crate) fn new(
        context: FlowContext,
        config: &WebConfig,
        connections: Connections<'_>,
    ) -> Self {
        Self {
            config: config.clone(),
            random: Rng::stream(context.seed, 0),
            client: RequestClient::new(connections, config.request_bytes),
            stop_us: context.stop_us,
            state: State::Reading { until_us: context.start_us },
            pages_started: 0,
            objects: 0,
            loaded_bytes: 0,
            page_load: DelayRecorder::new(),
            object_load: DelayRecorder::new(),
            download: config.download_bytes.map(|bytes| Download {
                bytes,
                start_us: context.start_us,
                place: None,
                files: 0,
                last_us: 0,
            }),
        }
    }

    /// Time from the request of a page to the end of its last object, parsing included.
    pub fn page_load(&self) -> &DelayRecorder {
        &self.page_load
    }

    /// Pages started, and objects and bytes of objects received completely.
    pub fn loaded(&self) -> (u64, u64, u64) {
        (self.pages_started, self.objects, self.loaded_bytes)
    }

    fn begin(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        if self.stop_us.is_some_and(|stop_us| now_us >= stop_us) {
            self.state = State::Done;
            return;
        }
        let page = Page::draw(&self.config, &mut self.random);
        self.pages_started += 1;
        // No object is outstanding, so a connection is idle, and a stream beside that of the download.
        if let Some(connection) = self.client.idle_connection() {
            self.client.request(connection, page.main_bytes, now_us, out);
        }
        self.state = State::Main(Loading { page, started_us: now_us });
    }

    fn on_object(&mut self, bytes: NonZeroU32, requested_us: u64, now_us: u64) {
        self.objects += 1;
        self.loaded_bytes += u64::from(bytes.get());
        self.object_load.record(now_us, now_us.saturating_sub(requested_us));
        self.state = match std::mem::replace(&mut self.state, State::Done) {
            State::Main(loading) => {
                let until_us = now_us + loading.page.parsing_us;
                State::Parsing { loading, until_us }
            }
            State::Embedded { loading, waiting, in_flight } => {
                State::Embedded { loading, waiting, in_flight: in_flight.saturating_sub(1) }
            }
            other => other,
        };
    }

    /// Makes the state transition that is due.
    fn advance(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Reading { until_us } if until_us <= now_us => self.begin(now_us, out),
            State::Parsing { loading, until_us } if until_us <= now_us => {
                let waiting = loading.page.embedded_bytes.iter().copied().collect();
                self.fetch(loading, waiting, 0, now_us, out);
            }
            State::Embedded { loading, waiting, in_flight } => {
                self.fetch(loading, waiting, in_flight, now_us, out);
            }
            other => self.state = other,
        }
    }

    fn fetch(
        &mut self,
        loading: Loading,
        mut waiting: VecDeque<NonZeroU32>,
        mut in_flight: usize,
        now_us: u64,
        out: &mut Vec<Packet>,
    ) {
        while let (Some(bytes), Some(connection)) = (waiting.front(), self.client.idle_connection())
        {
            self.client.request(connection, *bytes, now_us, out);
            waiting.pop_front();
            in_flight += 1;
        }
        self.state = if in_flight == 0 {
            self.page_load.record(now_us, now_us.saturating_sub(loading.started_us));
            State::Reading { until_us: now_us + loading.page.reading_us }
        } else {
            State::Embedded { loading, waiting, in_flight }
        };
    }
}

impl Endpoint for WebClient {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        self.client.on_packet(packet, now_us, out);
        while let Some(done) = self.client.completed() {
            if self.download.as_ref().is_some_and(|it| it.place == Some(done.connection)) {
                self.on_downloaded(now_us, out);
                continue;
            }
            self.on_object(done.bytes, done.requested_us, now_us);
            self.advance(now_us, out);
        }
        if let Some(download) = &mut self.download {
            download.last_us = now_us;
        }
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        self.client.poll(now_us, out);
        if self.download_us().is_some_and(|at_us| at_us <= now_us) {
            self.download_again(now_us, out);
        }
        while self.state_us().is_some_and(|at_us| at_us <= now_us) {
            self.advance(now_us, out);
        }
    }

    fn next_deadline_us(&self) -> Option<u64> {
        [self.client.next_deadline_us(), self.state_us(), self.download_us()]
            .into_iter()
            .flatten()
            .min()
    }
}

impl WebClient {
    /// Time at which the download begins; `None` once it has begun.
    fn download_us(&self) -> Option<u64> {
        let download = self.download.as_ref()?;
        let is_due =
            download.place.is_none() && self.stop_us.is_none_or(|it| download.start_us < it);
        is_due.then_some(download.start_us)
    }

    fn download_again(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        let (Some(download), Some(place)) = (&mut self.download, self.client.idle_connection())
        else {
            return;
        };
        download.place = Some(place);
        self.client.request(place, download.bytes, now_us, out);
    }

    fn on_downloaded(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        if let Some(download) = &mut self.download {
            download.files += 1;
        }
        if self.stop_us.is_none_or(|stop_us| now_us < stop_us) {
            self.download_again(now_us, out);
        }
    }

    /// Time at which reading or parsing ends.
    fn state_us(&self) -> Option<u64> {
        match &self.state {
            State::Reading { until_us } | State::Parsing { until_us, .. } => Some(*until_us),
            State::Main(_) | State::Embedded { .. } | State::Done => None,
        }
    }
}

impl Measured for WebClient {
    fn arrivals(&self) -> Option<&Arrivals> {
        Some(self.client.arrivals())
    }

    fn app_delay(&self) -> Option<(&'static str, &DelayRecorder)> {
        Some(("page load", &self.page_load))
    }

    fn figures(&self, figures: &mut Figures) {
        figures.push("pages_begun_count", self.pages_started as f64);
        figures.push("pages_loaded_count", self.page_load.count() as f64);
        figures.push("objects_loaded_count", self.objects as f64);
        figures.push_delay_s("page_load", &self.page_load);
        figures.push_delay_s("object_load", &self.object_load);
        if let Some(download) = &self.download {
            let under_way = download.place.map_or(0, |place| self.client.received_bytes(place));
            let bytes = download.files * u64::from(download.bytes.get()) + under_way;
            let elapsed_us = download.last_us.saturating_sub(download.start_us);
            figures.push("downloads_count", download.files as f64);
            figures.push("download_mean_mbps", bytes as f64 * 8.0 / elapsed_us as f64);
        }
    }
}
