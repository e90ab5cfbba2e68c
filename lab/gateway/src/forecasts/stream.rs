//! The subscription to the forecast stream, reconnected while the gateway runs.

use std::time::Duration;

use e2sm_tc::v1::LEVEL_QUANTILE;
use tokio::{sync::watch, time::sleep};
use tonic::{
    Code, Request, Status, Streaming,
    metadata::{Ascii, MetadataValue},
    transport::Channel,
};

use super::{
    ForecastOutcome, Forecaster, bearer_forecasts,
    proto::{ForecastBatch, ForecastRequest, Quantity, forecaster_client::ForecasterClient},
};
use crate::{
    command::{Command, Commands},
    metrics::GatewayMetrics,
    nodes::NodeTable,
};

/// First wait before a reconnection; it doubles up to the last.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_secs(5);
/// Larger than a batch of thousands of bearers.
const MAX_BATCH_BYTES: usize = 64 << 20;
/// What each pacer by forecasts uses.
const ALWAYS: [Quantity; 2] = [Quantity::OccupancyBytes, Quantity::DrainBytes];

/// Reads the forecast stream of one forecaster.
#[derive(Debug)]
pub(crate) struct ForecastStream {
    pub(crate) forecaster: Forecaster,
    pub(crate) nodes: watch::Receiver<NodeTable>,
    /// Whether a pacer uses the cumulated drain; only then does the forecaster have to learn it.
    pub(crate) uses_cumulated_drain: watch::Receiver<bool>,
    pub(crate) commands: Commands,
    pub(crate) metrics: GatewayMetrics,
}

impl ForecastStream {
    /// Reads forecasts and reconnects until the future is dropped.
    pub(crate) async fn run(self) {
        let mut retry = FIRST_RETRY;
        let mut is_lost = false;
        self.metrics.forecast_stream(false);
        loop {
            let mut batches: u64 = 0;
            let with_sums = *self.uses_cumulated_drain.borrow();
            let reason = match self.subscribe(with_sums).await {
                Ok(stream) => tokio::select! {
                    reason = self.read(stream, &mut batches) => reason,
                    () = self.until_sums_are_used(), if !with_sums => continue,
                },
                Err(reason) => reason,
            };
            self.metrics.forecast_stream(false);
            if batches > 0 {
                (retry, is_lost) = (FIRST_RETRY, false);
            }
            // Logged once per loss.
            if !is_lost {
                let address = self.forecaster.address();
                tracing::warn!(address, reason, "no forecasts; reconnecting to the forecaster");
                is_lost = true;
            }
            sleep(retry).await;
            retry = (2 * retry).min(LAST_RETRY);
        }
    }

    /// Never ends where no pacer ever uses the cumulated drain.
    async fn until_sums_are_used(&self) {
        if self.uses_cumulated_drain.clone().wait_for(|uses| *uses).await.is_err() {
            std::future::pending().await
        }
    }

    async fn subscribe(&self, with_sums: bool) -> Result<Streaming<ForecastBatch>, String> {
        let channel = self.forecaster.connect().await?;
        let mut client = ForecasterClient::new(channel).max_decoding_message_size(MAX_BATCH_BYTES);
        let token = self.forecaster.token()?;
        // Where the model does not forecast limits, or the forecaster no sums, a pacer uses its own.
        let sums: &[&[Quantity]] =
            if with_sums { &[&[Quantity::CumulatedDrainBytes], &[]] } else { &[&[]] };
        let limits: [&[Quantity]; 2] = [&[Quantity::LimitBytes], &[]];
        let mut refusal = String::new();
        for more in sums.iter().flat_map(|sums| limits.map(|limits| [*sums, limits])) {
            let quantities = [&ALWAYS[..], more[0], more[1]].concat();
            match self.request(&mut client, token.as_ref(), &quantities).await {
                Ok(stream) => return Ok(stream),
                Err(status) if status.code() == Code::InvalidArgument => {
                    refusal = describe(&status);
                }
                Err(status) => return Err(describe(&status)),
            }
        }
        Err(refusal)
    }

    async fn request(
        &self,
        client: &mut ForecasterClient<Channel>,
        token: Option<&MetadataValue<Ascii>>,
        quantities: &[Quantity],
    ) -> Result<Streaming<ForecastBatch>, Status> {
        let node_id = match self.nodes.borrow().as_slice() {
            [only] => only.node.id.clone(),
            _ => String::new(),
        };
        let mut quantiles = vec![LEVEL_QUANTILE, self.forecaster.drain_quantile()];
        quantiles.sort_by(f32::total_cmp);
        quantiles.dedup();
        let mut request = Request::new(ForecastRequest {
            node_id,
            quantities: quantities.iter().map(|quantity| (*quantity).into()).collect(),
            quantiles,
            ..ForecastRequest::default()
        });
        if let Some(token) = token {
            request.metadata_mut().insert("authorization", token.clone());
        }
        client.subscribe(request).await.map(tonic::Response::into_inner)
    }

    /// Reads until the stream ends; returns why.
    async fn read(&self, mut stream: Streaming<ForecastBatch>, batches: &mut u64) -> String {
        loop {
            match stream.message().await {
                Ok(Some(batch)) => {
                    if *batches == 0 {
                        self.metrics.forecast_stream(true);
                        tracing::info!(address = self.forecaster.address(), "receiving forecasts");
                    }
                    *batches += 1;
                    self.pass_on(batch);
                }
                Ok(None) => return "the forecaster ended the stream".to_owned(),
                Err(status) => return describe(&status),
            }
        }
    }

    fn pass_on(&self, batch: ForecastBatch) {
        let (forecasts, malformed) = bearer_forecasts(&batch, self.forecaster.drain_quantile());
        self.metrics.forecasts(ForecastOutcome::Malformed, malformed);
        let count = forecasts.len() as u64;
        let command = Command::Forecasts { node_id: batch.node_id, forecasts };
        if self.commands.send(command).is_err() {
            self.metrics.forecasts(ForecastOutcome::Dropped, count);
        }
    }
}

fn describe(status: &Status) -> String {
    format!("{}: {}", status.code(), status.message())
}
