//! Contests: the pure fold from CLICS events to the standings of each view. No I/O, no clock.
//!
//! ```
//! use rankcast::contest::{Contest, Notification, Side};
//!
//! let mut contest = Contest::new("finals");
//! for (sequence, line) in [
//!     r#"{"type":"contest","id":null,"data":{"name":"Finals","duration":"5:00:00"}}"#,
//!     r#"{"type":"problems","id":"A","data":{"id":"A","label":"A"}}"#,
//!     r#"{"type":"teams","id":"t1","data":{"id":"t1","name":"One"}}"#,
//!     r#"{"type":"submissions","id":"s1","data":{"id":"s1","team_id":"t1","problem_id":"A","contest_time":"0:10:00"}}"#,
//!     r#"{"type":"judgements","id":"j1","data":{"id":"j1","submission_id":"s1","judgement_type_id":"AC"}}"#,
//! ].iter().enumerate() {
//!     let notification = Notification::parse(line.as_bytes()).unwrap().unwrap();
//!     contest.fold(sequence as u64 + 1, &notification.event().unwrap(), false);
//! }
//! let row = contest.board(Side::Jury).get("t1").unwrap();
//! assert_eq!(row.values[..], [1, 10, 10]);
//! ```

pub mod awards;
pub mod balloons;
pub mod ceremony;
pub mod clics;
pub mod clock;
pub mod decimal;
pub mod event;
pub mod first;
pub mod icpc;
pub mod ioi;
pub mod judging;
pub mod projection;
pub mod rules;
pub mod settings;
pub mod state;
pub mod status;
pub mod view;

pub use event::{Event, EventError, Kind, Notification, is_id};
pub use judging::{Both, Side};
pub use settings::{Rounding, Scoring, Settings};
pub use state::{Aside, COLLECTIONS, Change, Contest, Decision, Line};
pub use status::{Phase, ProblemLine, Status};
pub use view::{View, Views};

/// The revision of the fold: part of a contest's epoch, so that two versions of the program that score differently never
/// pass for one. Raise it whenever the same log may give another board.
pub const REVISION: u32 = 3;

#[cfg(test)]
mod tests;
