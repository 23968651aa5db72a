//! Awards: who gets what by a standing (Contest API, "Awards"; `display_mode` as the icpctools resolver has it).

use serde::{Deserialize, Serialize};

use crate::board::Id;

/// An award and who gets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Award {
    /// One of the known ids (`winner`, `gold-medal`, `first-to-solve-A` …), or the feed's own.
    pub id: Id,
    /// What is read out.
    pub citation: String,
    /// Who gets it; `null`: not known now.
    pub team_ids: Option<Vec<Id>>,
    /// How the ceremony shows it.
    pub display_mode: DisplayMode,
}

/// How the ceremony shows an award.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DisplayMode {
    /// It stops at each team, and shows it.
    #[default]
    Detail,
    /// It stops at each team.
    Pause,
    /// It stops once, when all teams of the award have their place, and lists them.
    List,
    /// Not at all.
    Ignore,
}

/// How many get what; the awards that the feed names win over these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AwardSettings {
    /// Ranks that get gold. Default: 4, as at the ICPC World Finals.
    pub gold: usize,
    /// The ranks after those, that get silver. Default: 4.
    pub silver: usize,
    /// The ranks after those, that get bronze. Default: 4.
    pub bronze: usize,
    /// Up to which rank there is an award for each rank. Default: 0, none.
    pub ranks: usize,
    /// Solved problems (or points) from which a team without a medal gets an honorable mention. Default: 0, nobody does.
    pub honors: i64,
}

impl Default for AwardSettings {
    fn default() -> Self {
        Self {
            gold: 4,
            silver: 4,
            bronze: 4,
            ranks: 0,
            honors: 0,
        }
    }
}

/// The most ranks that a medal goes to.
pub const MEDALS_MAX: usize = 10_000;

/// The most ranks with an award of their own.
pub const RANKS_MAX: usize = 1_000;

impl AwardSettings {
    pub(super) fn check(self) -> Result<(), String> {
        let medals = [self.gold, self.silver, self.bronze];
        if medals.iter().any(|medal| *medal > MEDALS_MAX) {
            return Err(format!(
                "awards: expected at most {MEDALS_MAX} of each medal"
            ));
        }
        if self.ranks > RANKS_MAX {
            return Err(format!(
                "awards: expected at most {RANKS_MAX} ranks, got {}",
                self.ranks
            ));
        }
        Ok(())
    }

    /// The medals, best first: the award's id, its citation, and the last rank that gets it.
    pub(super) fn medals(self) -> [(&'static str, &'static str, usize); 3] {
        let (gold, silver) = (self.gold, self.gold.saturating_add(self.silver));
        [
            ("gold-medal", "Gold medal winner", gold),
            ("silver-medal", "Silver medal winner", silver),
            (
                "bronze-medal",
                "Bronze medal winner",
                silver.saturating_add(self.bronze),
            ),
        ]
    }
}

/// Is it an award that teams get for their place, not for a problem or as the feed likes?
pub(super) fn is_medal(id: &str) -> bool {
    matches!(id, "gold-medal" | "silver-medal" | "bronze-medal")
}
