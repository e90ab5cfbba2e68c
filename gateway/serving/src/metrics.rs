//! Metrics of the servers of a program: refusals, limits, connections, certificates, audit.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use crate::limits::Refusals;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ListenerLabels {
    server: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct UseLabels {
    r#use: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefusalLabels {
    server: &'static str,
    reason: &'static str,
}

/// Metrics of the servers of a program; clones share their counters.
#[derive(Clone, Debug, Default)]
pub struct ServingMetrics {
    refused: Family<RefusalLabels, Counter>,
    access_reload_failures: Counter,
    audit_failures: Counter,
    tls_reload_failures: Family<ListenerLabels, Counter>,
    certificate_not_after: Family<UseLabels, Gauge>,
    limited: Refusals,
    connections: Family<ListenerLabels, Gauge>,
}

impl ServingMetrics {
    /// Counts a call or request that was refused.
    pub fn refused(&self, server: &'static str, reason: &'static str) {
        self.refused.get_or_create(&RefusalLabels { server, reason }).inc();
    }

    /// Starts a count of refusals at 0: increase() misses the first one of a series that is new.
    pub fn expect_refusals(&self, server: &'static str, reason: &'static str) {
        drop(self.refused.get_or_create(&RefusalLabels { server, reason }));
    }

    /// What the limits of clients refused.
    pub fn limited(&self) -> Refusals {
        self.limited.clone()
    }

    /// Connections open at a listener.
    pub fn connections(&self, server: &'static str) -> Gauge {
        self.connections.get_or_create_owned(&ListenerLabels { server })
    }

    /// Counts a changed access file that was not taken over.
    pub fn access_reload_failed(&self) {
        self.access_reload_failures.inc();
    }

    /// Counts a line of the audit log that did not go to its file.
    pub fn audit_failed(&self) {
        self.audit_failures.inc();
    }

    /// Lines of the audit log that did not go to its file.
    pub fn audit_failures(&self) -> u64 {
        self.audit_failures.get()
    }

    /// Counts changed certificates of a listener that were not taken over.
    pub fn tls_reload_failed(&self, server: &'static str) {
        self.tls_reload_failures.get_or_create(&ListenerLabels { server }).inc();
    }

    /// Sets the end of the validity of a certificate, Unix time; `use` is its listener, or what it is shown
    /// to as a client.
    pub fn certificate_not_after(&self, r#use: &'static str, unix_s: i64) {
        self.certificate_not_after.get_or_create(&UseLabels { r#use }).set(unix_s);
    }

    /// Removes a certificate whose end of validity cannot be read.
    pub fn certificate_unknown(&self, r#use: &'static str) {
        self.certificate_not_after.remove(&UseLabels { r#use });
    }

    /// Starts the failed reloads of a listener's certificates at 0, as in `expect_refusals`.
    pub fn expect_reloads(&self, server: &'static str) {
        drop(self.tls_reload_failures.get_or_create(&ListenerLabels { server }));
    }

    /// Adds them to a registry.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "access_refused",
            "Calls and requests refused, by server and reason (unauthenticated, right, node)",
            self.refused.clone(),
        );
        registry.register(
            "limited",
            "What clients asked for beyond their limits, by client (the first 32, others as other) and \
             limit",
            self.limited.total(),
        );
        let connections = self.connections.clone();
        registry.register("server_connections", "Connections open now, by server", connections);
        registry.register(
            "access_reload_failures",
            "Changed access files that were not valid; the previous one stayed in force",
            self.access_reload_failures.clone(),
        );
        registry.register(
            "audit_failures",
            "Audit lines that went to the program's log because the file could not be written",
            self.audit_failures.clone(),
        );
        registry.register(
            "tls_reload_failures",
            "Changed certificates that could not be used; the previous ones stayed in use",
            self.tls_reload_failures.clone(),
        );
        registry.register(
            "tls_certificate_not_after_seconds",
            "End of validity of a certificate, Unix time, by use: a server, or a connection as client",
            self.certificate_not_after.clone(),
        );
    }
}
