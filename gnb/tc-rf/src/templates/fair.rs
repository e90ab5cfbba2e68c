//! Flows told apart by hash, each with its fair part.

use e2sm_tc::v1::{Pacer, Pipeline, QueueDiscipline};

use super::TemplateParams;
use super::parts::{codel, drr, hash, queues, run};

/// FQ-CoDel (RFC 8290) with a pacer: stochastic hash, CoDel queues, DRR (irazabal2024 §IV-B).
pub fn fq_codel(params: &TemplateParams) -> Pipeline {
    let flows = run(0, params.flow_queues);
    Pipeline {
        name: "fq_codel".to_owned(),
        classifier: hash(flows),
        queues: vec![queues(flows, QueueDiscipline::Codel(codel(params)))],
        scheduler: drr(params),
        pacer: params.pacer,
        buffer: params.buffer,
    }
}

/// FQ-CoDel paced by forecasts of the RLC buffer, for a CU whose reports are old when they arrive
/// (stolidis2024 §III, with DRQL where no forecast is at hand).
pub fn drql_forecast(params: &TemplateParams) -> Pipeline {
    Pipeline {
        name: "drql_forecast".to_owned(),
        pacer: Pacer::Forecast { stale_us: params.forecast_stale_us },
        ..fq_codel(params)
    }
}
