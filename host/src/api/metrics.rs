//! What a host counts, for whoever watches many of them: OpenMetrics, as Prometheus and its kin read it.
//!
//! The same figures as `/api/v1/counts`, by the same token: states and numbers, and no name of anybody's.

use super::health::has_synchronous_standby;
use super::{Api, ledger_problem};
use crate::problem::Problem;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::sync::Arc;

/// <https://github.com/prometheus/OpenMetrics>, version 1.0.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// One name and one value beside a metric.
type Label = [(&'static str, String); 1];

pub(super) async fn show(State(api): State<Arc<Api>>) -> Result<Response, Problem> {
    let metrics = Metrics::of(&api).await?;
    Ok(([(header::CONTENT_TYPE, OPEN_METRICS)], metrics.text()).into_response())
}

/// Metrics of one moment.
struct Metrics(Registry);

impl Metrics {
    async fn of(api: &Api) -> Result<Self, Problem> {
        let counts = api.ledger.counts().await.map_err(ledger_problem)?;
        let mut metrics = Metrics(Registry::with_prefix("oncegate"));
        let again = [("duplicate", counts.duplicates), ("conflict", counts.conflicts)];
        metrics.counter(
            "events",
            "Deliveries taken in, those that came again among them",
            counts.events,
        );
        metrics.by(
            "events_again",
            "Deliveries whose key was taken, by what they were",
            "as",
            again,
        );
        let runs = counts.runs.iter().map(|(state, count)| (state.as_str(), *count));
        metrics.by("runs", "Runs in the ledger, by state", "state", runs);
        let review = counts.review.iter().map(|(reason, count)| (reason.as_str(), *count));
        metrics.by("review_items", "Open review items, by reason", "reason", review);
        let connections = [
            ("blocked", api.executor.blocked().len()),
            ("failing", api.executor.failing().len()),
            ("paused", api.executor.paused().len()),
        ];
        let connections = connections.map(|(state, count)| (state, count as u64));
        metrics.by(
            "connections",
            "Connections that cannot be used, by why",
            "state",
            connections,
        );
        let broken = api.catalog.snapshot().broken().len();
        metrics.gauge("broken_parts", "Active parts that cannot be used", broken as u64);
        let seated = api.executor.seated() as u64;
        metrics.gauge("steps_in_memory", "Steps in memory of this host", seated);
        let writer = api.ledger.writer_counts();
        metrics.counter(
            "ledger_commands",
            "Commands that this host's writer carried out",
            writer.commands,
        );
        metrics.counter("ledger_commits", "Transactions that it committed", writer.commits);
        metrics.counter("ledger_rollbacks", "Transactions that it rolled back", writer.rollbacks);
        metrics.counter(
            "ledger_moves",
            "Times that it moved its log into its database",
            writer.moves,
        );
        let doubted = u64::from(api.ledger.memory().notice().is_some());
        metrics.gauge(
            "ledger_may_have_forgotten",
            "1: the ledger may have forgotten, see /readyz",
            doubted,
        );
        if let Some(has_standby) = has_synchronous_standby(api) {
            let help = "0: a failover of the database to another server can lose acknowledged work";
            metrics.gauge("ledger_synchronous_standby", help, has_standby.into());
        }
        Ok(metrics)
    }

    fn gauge(&mut self, name: &str, help: &str, value: u64) {
        let gauge = Gauge::<i64>::default();
        gauge.set(whole(value));
        self.0.register(name, help, gauge);
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        let counter = Counter::<u64>::default();
        counter.inc_by(value);
        self.0.register(name, help, counter);
    }

    /// A gauge for each of several states.
    fn by<'a>(
        &mut self,
        name: &str,
        help: &str,
        label: &'static str,
        values: impl IntoIterator<Item = (&'a str, u64)>,
    ) {
        let family = Family::<Label, Gauge<i64>>::default();
        for (state, value) in values {
            family.get_or_create(&[(label, state.to_owned())]).set(whole(value));
        }
        self.0.register(name, help, family);
    }

    fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.0).expect("a text takes what is written to it");
        text
    }
}

fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_read_as_open_metrics_does() {
        let mut metrics = Metrics(Registry::with_prefix("oncegate"));
        metrics.counter("events", "Deliveries", 7);
        metrics.by("runs", "Runs", "state", [("completed", 5)]);
        metrics.gauge("steps_in_memory", "Steps", 2);
        let expected = "# HELP oncegate_events Deliveries.\n# TYPE oncegate_events counter\noncegate_events_total 7\n\
                        # HELP oncegate_runs Runs.\n# TYPE oncegate_runs gauge\noncegate_runs{state=\"completed\"} 5\n\
                        # HELP oncegate_steps_in_memory Steps.\n# TYPE oncegate_steps_in_memory gauge\n\
                        oncegate_steps_in_memory 2\n# EOF\n";
        assert_eq!(metrics.text(), expected);
    }
}
