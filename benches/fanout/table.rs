//! All servers in turn, round after round, and the table of medians.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{
    measure::{Run, median, quantile, run},
    rankcast::Store,
    server::{Kind, Setup},
};

/// Of one server and number of viewers, in the order of the rounds; `Err`: what went wrong.
type Runs = Vec<Result<Run, String>>;

/// The row that others are compared with.
const OURS: Kind = Kind::Rankcast(Store::Embedded);

/// A finished table.
pub(crate) struct Table {
    rows: Vec<(Kind, usize, Runs)>,
    skipped: Vec<(Kind, &'static str)>,
}

impl Table {
    /// Measures `rounds` times, each server in turn in each round.
    pub(crate) fn measure(setup: &Setup, kinds: &[Kind], viewers: &[usize], rounds: usize) -> Self {
        let (skipped, kinds): (Vec<Kind>, Vec<Kind>) =
            kinds.iter().partition(|kind| kind.missing(setup).is_some());
        let mut rows: Vec<(Kind, usize, Runs)> = viewers
            .iter()
            .flat_map(|viewers| kinds.iter().map(|kind| (*kind, *viewers, Vec::new())))
            .collect();
        for round in 1..=rounds {
            for (kind, viewers, runs) in &mut rows {
                eprintln!(
                    "round {round} of {rounds}: {}, {viewers} viewers",
                    kind.name()
                );
                let result = run(*kind, setup, *viewers).map_err(|error| format!("{error:#}"));
                if let Err(error) = &result {
                    eprintln!("  failed: {error}");
                }
                runs.push(result);
            }
        }
        Self {
            rows,
            skipped: skipped
                .into_iter()
                .filter_map(|kind| Some((kind, kind.missing(setup)?)))
                .collect(),
        }
    }

    /// Prints it as Markdown.
    pub(crate) fn print(&self) {
        println!(
            "| viewers | server | CPU a delivery | ours / it | it / bare | p50 | p99 | last, p50 | last, p99 | last, p99, it / bare | memory a viewer | frame | waited |"
        );
        println!("|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
        for (kind, viewers, runs) in &self.rows {
            let name = kind.name();
            let good: Vec<&Run> = runs.iter().flatten().collect();
            if good.is_empty() {
                let error = runs.iter().find_map(|run| run.as_ref().err());
                println!(
                    "| {viewers} | {name} | failed: {} |",
                    error.map_or("", |error| error)
                );
                continue;
            }
            let of = |figure: fn(&Run) -> f64| median(good.iter().map(|run| figure(run)));
            let last = last(&good);
            let mut cpu = format!("{:.2} us", of(|run| run.cpu_us));
            for (index, (beside, _)) in good[0].beside_us.iter().enumerate() {
                let median = median(good.iter().map(|run| run.beside_us[index].1));
                let _ = write!(cpu, " ({beside} {median:.2})");
            }
            let mut memory = format!("{:.1} KB", of(|run| run.memory) / 1024.0);
            for (index, (beside, _)) in good[0].beside_memory.iter().enumerate() {
                let median = median(good.iter().map(|run| run.beside_memory[index].1));
                let _ = write!(memory, " ({beside} {:.1})", median / 1024.0);
            }
            println!(
                "| {viewers} | {name} | {cpu} | {} | {} | {} | {} | {} | {} | {} | {memory} | {:.0} B | {:.2} |",
                ratio(self.cpu_ratio(OURS, *kind, *viewers)),
                ratio(self.cpu_ratio(*kind, Kind::Bare, *viewers)),
                ms(of(|run| run.p50_us)),
                ms(of(|run| run.p99_us)),
                ms(quantile(&last, 0.5)),
                ms(quantile(&last, 0.99)),
                ratio(self.last_ratio(*kind, *viewers)),
                of(|run| run.frame_bytes),
                of(|run| run.waited),
            );
            let failed = runs.len() - good.len();
            if failed > 0 {
                println!("| | {failed} of its {} runs failed |", runs.len());
            }
        }
        for (kind, why) in &self.skipped {
            println!("| | {} | skipped: {why} |", kind.name());
        }
        println!(
            "waited: while others used the server's core, for each ms of its own; of much more than 0, the machine was not quiet"
        );
    }

    fn runs(&self, kind: Kind, viewers: usize) -> &[Result<Run, String>] {
        self.rows
            .iter()
            .find(|(other, count, _)| (*other, *count) == (kind, viewers))
            .map_or(&[][..], |(_, _, runs)| runs)
    }

    /// How late the last viewer has an update, beside the bare loop: p99 of all rounds' updates together.
    fn last_ratio(&self, of: Kind, viewers: usize) -> f64 {
        let late = |kind| {
            let good: Vec<&Run> = self.runs(kind, viewers).iter().flatten().collect();
            quantile(&last(&good), 0.99)
        };
        late(of) / late(Kind::Bare)
    }

    /// How the CPU of two servers compares: the median of the rounds' ratios.
    fn cpu_ratio(&self, of: Kind, to: Kind, viewers: usize) -> f64 {
        let pairs = self.runs(of, viewers).iter().zip(self.runs(to, viewers));
        median(
            pairs.filter_map(|(of, to)| Some(of.as_ref().ok()?.cpu_us / to.as_ref().ok()?.cpu_us)),
        )
    }

    /// Everything, for the file.
    pub(crate) fn json(&self) -> Value {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|(kind, viewers, runs)| {
                let good: Vec<&Run> = runs.iter().flatten().collect();
                let last = last(&good);
                json!({
                    "server": kind.name(),
                    "viewers": viewers,
                    "cpu_us": number(median(good.iter().map(|run| run.cpu_us))),
                    "cpu_to_bare": number(self.cpu_ratio(*kind, Kind::Bare, *viewers)),
                    "ours_to_it": number(self.cpu_ratio(OURS, *kind, *viewers)),
                    "p50_us": number(median(good.iter().map(|run| run.p50_us))),
                    "p99_us": number(median(good.iter().map(|run| run.p99_us))),
                    "last_p50_us": number(quantile(&last, 0.5)),
                    "last_p99_us": number(quantile(&last, 0.99)),
                    "last_p99_to_bare": number(self.last_ratio(*kind, *viewers)),
                    "waited": number(median(good.iter().map(|run| run.waited))),
                    "memory_bytes": number(median(good.iter().map(|run| run.memory))),
                    "runs": good,
                    "errors": runs.iter().filter_map(|run| run.as_ref().err()).collect::<Vec<_>>(),
                })
            })
            .collect();
        let skipped: Vec<Value> = self
            .skipped
            .iter()
            .map(|(kind, why)| json!({"server": kind.name(), "skipped": why}))
            .collect();
        json!({"rows": rows, "skipped": skipped})
    }
}

/// The last arrivals of all rounds, sorted.
fn last(runs: &[&Run]) -> Vec<f64> {
    let mut all: Vec<f64> = runs.iter().flat_map(|run| run.last_us.clone()).collect();
    all.sort_unstable_by(f64::total_cmp);
    all
}

fn number(value: f64) -> Value {
    json!((value * 1000.0).round() / 1000.0)
}

pub(crate) fn ratio(value: f64) -> String {
    if value.is_nan() {
        String::new()
    } else {
        format!("{value:.2}")
    }
}

fn ms(us: f64) -> String {
    format!("{:.1} ms", us / 1000.0)
}
