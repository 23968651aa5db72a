//! Verification: folds a log again from its start, and compares with what is served.

use std::{collections::HashMap, time::Duration};

use serde::Serialize;

use super::{
    Hub,
    contest::{Live, READ_MAX},
    core::{Core, fold},
};
use crate::{
    board::{Board, Id},
    contest::{Aside, Contest, View, Views, projection},
    store::{StoreError, Tip},
};

/// How many differences a report lists for each view; it counts all of them.
pub const DIFFERENCES_MAX: usize = 20;

/// How often the fold tries to meet a log that moves on.
const MEETINGS_MAX: usize = 50;

/// How long the projection may lag behind before a difference counts.
const PROJECTION_PATIENCE: Duration = Duration::from_secs(2);

/// What a verification found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The contest.
    pub contest: String,
    /// True if nothing differs.
    pub equal: bool,
    /// The sequence number up to which both folds went.
    pub sequence: u64,
    /// The public board.
    pub public: ViewReport,
    /// The jury's board.
    pub jury: ViewReport,
    /// What the hall sees in a ceremony.
    pub ceremony: ViewReport,
    /// The sorted set beside the log.
    pub projection: ProjectionReport,
    /// What refers to something that is not there.
    pub aside: Vec<Aside>,
    /// Events of the log that this version of the program cannot read.
    pub unreadable: Vec<u64>,
}

/// One view, served against folded again.
#[derive(Clone, Debug, Serialize)]
pub struct ViewReport {
    /// Its version.
    pub version: u64,
    /// Its rows.
    pub rows: usize,
    /// How many rows differ.
    pub different: usize,
    /// The first of them.
    pub differences: Vec<String>,
}

/// The sorted set, against the public board.
#[derive(Clone, Debug, Serialize)]
pub struct ProjectionReport {
    /// `equal`, `different`, `none` (this store has none) or `beyond` (the standings do not fit into one).
    pub state: &'static str,
    /// Members of the set.
    pub members: usize,
    /// The first differences.
    pub differences: Vec<String>,
}

impl Hub {
    /// Folds a contest's log again, and compares with what this server serves and with the projection.
    pub async fn verify(&self, live: &Live) -> Result<Report, StoreError> {
        let mut again = Contest::new(live.id());
        for _ in 0..MEETINGS_MAX {
            let slice = self
                .store
                .read(live.id(), again.sequence(), READ_MAX)
                .await?;
            if slice.tip.sequence < again.sequence() {
                again = Contest::new(live.id());
            }
            let mut after = again.sequence();
            let mut events = slice.events;
            while !events.is_empty() {
                for stored in &events {
                    after = stored.sequence;
                    // What cannot be read is in the report of the served fold.
                    let _ = fold(&mut again, stored);
                }
                tokio::task::yield_now().await;
                events = self.store.read(live.id(), after, READ_MAX).await?.events;
            }
            let tip = Tip {
                sequence: after,
                ..slice.tip
            };
            live.wait_for(&tip, Duration::from_secs(1)).await;
            let compared = {
                let core = live.core();
                (core.fold.sequence() == again.sequence()).then(|| compare(&core, &again))
            };
            if let Some((views, aside, unreadable)) = compared {
                let projection = self.verify_projection(live).await?;
                let different = views.iter().any(|(_, view)| view.different > 0)
                    || projection.state == "different";
                return Ok(Report {
                    contest: live.id().to_owned(),
                    equal: !different && unreadable.is_empty(),
                    sequence: again.sequence(),
                    public: views[View::Public].clone(),
                    jury: views[View::Jury].clone(),
                    ceremony: views[View::Ceremony].clone(),
                    projection,
                    aside,
                    unreadable,
                });
            }
        }
        Err(StoreError::Away(
            "the log moves on faster than it can be verified; try again".to_owned(),
        ))
    }

    async fn verify_projection(&self, live: &Live) -> Result<ProjectionReport, StoreError> {
        let report = |state, members, differences| ProjectionReport {
            state,
            members,
            differences,
        };
        if !self.store.projects() {
            return Ok(report("none", 0, Vec::new()));
        }
        let patience = tokio::time::Instant::now() + PROJECTION_PATIENCE;
        loop {
            let stored = self.store.projection(live.id()).await?;
            let expected: Result<HashMap<Id, u64>, projection::Beyond> = {
                let core = live.core();
                let board = core.fold.board(View::Public);
                let rows = board.window(None);
                rows.filter_map(|entry| match projection::score(&core.fold, entry) {
                    Ok(score) => score.map(|score| Ok((entry.id.clone(), score))),
                    Err(beyond) => Some(Err(beyond)),
                })
                .collect()
            };
            let Ok(mut expected) = expected else {
                return Ok(report("beyond", stored.len(), Vec::new()));
            };
            let mut differences = Vec::new();
            for (member, score) in &stored {
                match expected.remove(member.as_str()) {
                    Some(right) if right == *score => {}
                    Some(right) => differences
                        .push(format!("{member}: the set has {score}, the board {right}")),
                    None => differences.push(format!(
                        "{member}: in the set, but has no place on the board"
                    )),
                }
            }
            differences.extend(
                expected
                    .keys()
                    .map(|member| format!("{member}: not in the set")),
            );
            differences.truncate(DIFFERENCES_MAX);
            if differences.is_empty() {
                return Ok(report("equal", stored.len(), differences));
            }
            if tokio::time::Instant::now() > patience {
                return Ok(report("different", stored.len(), differences));
            }
            tokio::time::sleep(super::TICK).await;
        }
    }
}

fn compare(core: &Core, again: &Contest) -> (Views<ViewReport>, Vec<Aside>, Vec<u64>) {
    let views = Views::from_fn(|view| {
        let (served, folded) = (core.fold.board(view), again.board(view));
        let mut differences = differences(served, folded);
        if core.fold.problems(view) != again.problems(view) {
            differences.push("the problems or their statistics".to_owned());
        }
        if core.fold.status(view) != again.status(view) {
            differences.push("the phase or the clock".to_owned());
        }
        if served.version() != folded.version() {
            differences.push(format!(
                "the version: served {}, folded again {}",
                served.version(),
                folded.version()
            ));
        }
        let different = differences.len();
        differences.truncate(DIFFERENCES_MAX);
        ViewReport {
            version: served.version(),
            rows: served.len(),
            different,
            differences,
        }
    });
    (
        views,
        core.fold.all_aside(),
        core.unreadable.keys().copied().collect(),
    )
}

fn differences(served: &Board, folded: &Board) -> Vec<String> {
    let mut out = Vec::new();
    for (position, entry) in folded.window(None).enumerate() {
        match served.get(&entry.id) {
            None => out.push(format!("{}: not served", entry.id)),
            Some(other) if other != entry => {
                out.push(format!(
                    "{}: served {:?}, folded again {:?}",
                    entry.id, other.values, entry.values
                ));
            }
            Some(_) if served.position(&entry.id) != Some(position) => {
                out.push(format!("{}: another place", entry.id));
            }
            Some(_) => {}
        }
    }
    out.extend(
        served
            .window(None)
            .filter(|entry| folded.get(&entry.id).is_none())
            .map(|entry| format!("{}: served, but not in the log", entry.id)),
    );
    out
}
