//! ICPC's results.tsv (Contest Control System Requirements, "results.tsv"): a line `results 1`, then ICPC id, rank, award, solved, penalty,
//! last accepted and group winner of each ranked team. Who gets an honorable mention has no rank.

use serde_json::Value;

use super::Results;

fn rows(results: &Results) -> impl Iterator<Item = &Value> {
    results.scoreboard["rows"].as_array().into_iter().flatten()
}

/// How many teams have no ICPC id.
pub fn without_icpc_id(results: &Results) -> usize {
    let id = |row: &&Value| {
        results
            .of_team(row["team_id"].as_str().unwrap_or(""), "icpc_id")
            .is_empty()
    };
    rows(results).filter(id).count()
}

/// The file.
pub fn write(results: &Results) -> String {
    let mut out = "results\t1\n".to_owned();
    for row in rows(results) {
        let team = row["team_id"].as_str().unwrap_or("");
        let (award, ranked) = award(results, team);
        let number = |value: &Value| {
            value
                .as_i64()
                .map_or_else(|| "0".to_owned(), |number| number.to_string())
        };
        let score = &row["score"];
        let solved = if score["score"].is_null() {
            number(&score["num_solved"])
        } else {
            score["score"].to_string()
        };
        let fields = [
            results.of_team(team, "icpc_id").to_owned(),
            if ranked {
                number(&row["rank"])
            } else {
                String::new()
            },
            award.to_owned(),
            solved,
            number(&score["total_time"]),
            number(&score["time"]),
            results.wins(team).first().copied().unwrap_or("").to_owned(),
        ];
        out.push_str(
            &fields
                .map(|field| field.replace(['\t', '\n', '\r'], " "))
                .join("\t"),
        );
        out.push('\n');
    }
    out
}

/// What the file calls a team's award, and whether its rank stands there.
fn award(results: &Results, team: &str) -> (&'static str, bool) {
    let named = [
        ("gold-medal", "Gold Medal", true),
        ("silver-medal", "Silver Medal", true),
        ("bronze-medal", "Bronze Medal", true),
        ("honorable-mention", "Honorable", false),
    ];
    let found = named
        .into_iter()
        .find(|(award, ..)| results.has_award(team, award));
    found.map_or(("Ranked", true), |(_, name, ranked)| (name, ranked))
}

#[cfg(test)]
mod tests {
    use crate::cli::export::tests::results;

    #[test]
    fn the_file_is_as_icpc_reads_it() {
        assert_eq!(
            super::write(&results()),
            "results\t1\n1001\t1\tGold Medal\t1\t30\t10\tNorth\n\t\tHonorable\t0\t0\t0\t\n"
        );
        assert_eq!(super::without_icpc_id(&results()), 1);
    }
}
