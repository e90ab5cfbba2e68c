//! What the runs exercised, to see that they are not empty.

macro_rules! tally {
    ($($(#[doc = $doc:literal])* $field:ident),+ $(,)?) => {
        /// Counts over runs.
        #[derive(Clone, Copy, Debug, Default)]
        pub(super) struct Tally {
            $($(#[doc = $doc])* pub(super) $field: u64,)+
        }

        impl Tally {
            pub(super) fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)+
            }

            pub(super) fn rows(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($field), self.$field)),+]
            }
        }
    };
}

tally! {
    runs,
    steps,
    /// Controls that clients sent.
    controls,
    controls_lost,
    controls_repeated,
    /// Answers that reached their client.
    answers,
    answers_lost,
    /// Transactions that changed a pipeline.
    accepted,
    /// Those of `accepted` with the safe pipeline as result.
    to_safe,
    dry_runs,
    refused_stale,
    refused_pipelines,
    renewed,
    /// Leases of pipelines that ended by themselves.
    leases_expired,
    /// Changes of the holder of a node.
    node_taken,
    /// Requests for a node that another holds.
    node_refused,
    crashes,
    links_lost,
    restarts,
    reports,
    packets,
    packets_dropped,
    packets_recalled,
    packets_released,
    packets_lost_on_f1,
}
