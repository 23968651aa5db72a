//! The mix of limits that viewers ask for, and who of them is what.

use std::str::FromStr;

use rand::{rngs::StdRng, seq::SliceRandom as _};

use crate::protocol::Limit;

/// Limits with their weights: `100:80,10:15,all:5`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mix(Vec<(Limit, u32)>);

impl FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        for part in text.split(',') {
            let (limit, weight) = part.split_once(':').unwrap_or((part, "1"));
            let limit: Limit = limit.trim().parse()?;
            let weight = weight.trim().parse().map_err(|_| {
                format!("expected limits with weights, such as 100:80,10:15,all:5, got {part:?}")
            })?;
            parts.push((limit, weight));
        }
        if parts.iter().all(|(_, weight)| *weight == 0) {
            return Err("expected a weight above 0".to_owned());
        }
        Ok(Self(parts))
    }
}

impl Mix {
    /// A limit for each of `count` viewers: the shares are kept as exactly as they can be, who gets which is chance.
    pub fn deal(&self, count: usize, random: &mut StdRng) -> Vec<Limit> {
        let total: u64 = self.0.iter().map(|(_, weight)| u64::from(*weight)).sum();
        let mut dealt = Vec::with_capacity(count);
        let mut sum = 0;
        for (limit, weight) in &self.0 {
            sum += u64::from(*weight);
            let until = (count as u64 * sum + total / 2) / total;
            dealt.resize(until as usize, *limit);
        }
        dealt.shuffle(random);
        dealt
    }
}

/// True for so many percent of `count` viewers; for one at least, if it is not nothing.
pub fn share(percent: f64, count: usize, random: &mut StdRng) -> Vec<bool> {
    let chosen = (count as f64 * percent / 100.0).round() as usize;
    let chosen = chosen.max(usize::from(percent > 0.0)).min(count);
    let mut dealt = vec![false; count];
    dealt[..chosen].fill(true);
    dealt.shuffle(random);
    dealt
}

/// Reads a share in percent.
pub fn percent(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|percent| (0.0..=100.0).contains(percent))
        .ok_or_else(|| format!("expected 0 to 100, got {text:?}"))
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;

    use super::*;

    fn count(dealt: &[Limit], limit: Limit) -> usize {
        dealt.iter().filter(|one| **one == limit).count()
    }

    #[test]
    fn shares_are_kept() {
        let mut random = StdRng::seed_from_u64(1);
        let mix: Mix = "100:80,10:15,all:5".parse().unwrap();
        let dealt = mix.deal(1000, &mut random);
        assert_eq!(dealt.len(), 1000);
        assert_eq!(
            [Limit::Hundred, Limit::Ten, Limit::All].map(|limit| count(&dealt, limit)),
            [800, 150, 50]
        );
        assert_eq!(mix.deal(1, &mut random).len(), 1);
        assert_eq!(mix.deal(0, &mut random), []);
        let halves: Mix = "25,10".parse().unwrap();
        assert_eq!(count(&halves.deal(7, &mut random), Limit::Ten), 3);
        // A limit is rounded up, as the server does; a weight may be nothing.
        let rounded: Mix = " 99:1 , all:0".parse().unwrap();
        assert_eq!(count(&rounded.deal(5, &mut random), Limit::Hundred), 5);
    }

    #[test]
    fn what_is_no_mix_is_refused() {
        for text in [
            "",
            "100:",
            "0:1",
            "1001",
            "100:-1",
            "100:1,,10:1",
            "100:0",
            "x:1",
            "100:1:1",
        ] {
            assert!(text.parse::<Mix>().is_err(), "{text}");
        }
        for text in ["-1", "101", "nan", "", "half"] {
            assert!(percent(text).is_err(), "{text}");
        }
        assert_eq!(percent("2.5"), Ok(2.5));
    }

    #[test]
    fn a_small_share_is_somebody() {
        let mut random = StdRng::seed_from_u64(1);
        let chosen = |percent: f64, count: usize, random: &mut StdRng| {
            share(percent, count, random)
                .iter()
                .filter(|one| **one)
                .count()
        };
        assert_eq!(chosen(10.0, 40, &mut random), 4);
        assert_eq!(chosen(0.1, 40, &mut random), 1);
        assert_eq!(chosen(0.0, 40, &mut random), 0);
        assert_eq!(chosen(100.0, 3, &mut random), 3);
        assert_eq!(chosen(50.0, 0, &mut random), 0);
    }
}
