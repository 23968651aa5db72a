//! The board as a table (RFC 4180), for spreadsheets.

use std::fmt::Write as _;

use super::Results;
use crate::{
    board::{Cell, Column},
    contest::decimal,
};

/// The table: a header, then a row for each team; a cell of a problem is `tries (time)`, `tries` of one that is not solved, with
/// `+N` for pending ones; in point scoring the score.
pub fn write(results: &Results) -> String {
    let columns: Vec<&Column> = results.board.columns.iter().collect();
    let shown: Vec<(usize, &Column)> = columns
        .iter()
        .copied()
        .enumerate()
        .filter(|(_, column)| !column.section)
        .collect();
    let scale = shown.first().map_or(0, |(_, column)| column.scale);
    let mut header: Vec<String> = [
        "rank",
        "team_id",
        "icpc_id",
        "name",
        "organization",
        "groups",
    ]
    .map(str::to_owned)
    .to_vec();
    header.extend(shown.iter().map(|(_, column)| column.name.to_string()));
    header.extend(
        results
            .board
            .problems
            .iter()
            .map(|problem| problem.label.clone()),
    );
    let mut out = line(&header);
    for (rank, entry) in results.rows() {
        let groups: Vec<&str> = entry
            .label
            .groups
            .iter()
            .map(|group| results.group(group))
            .collect();
        let mut fields = vec![
            rank.map_or_else(String::new, |rank| rank.to_string()),
            entry.id.to_string(),
            results.of_team(&entry.id, "icpc_id").to_owned(),
            entry.label.name.to_string(),
            entry.label.organization.as_deref().unwrap_or("").to_owned(),
            groups.join("; "),
        ];
        fields.extend(
            shown
                .iter()
                .map(|(index, column)| decimal::format(entry.values[*index], column.scale)),
        );
        fields.extend(
            results
                .board
                .problems
                .iter()
                .map(|problem| cell(entry.cells.get(&problem.id), scale)),
        );
        out.push_str(&line(&fields));
    }
    out
}

fn cell(cell: Option<&Cell>, scale: u8) -> String {
    let Some(cell) = cell else {
        return String::new();
    };
    let mut text = match (cell.score, cell.time) {
        (Some(score), _) => decimal::format(score, scale),
        (None, Some(time)) => format!("{} ({time})", cell.tries),
        (None, None) => cell.tries.to_string(),
    };
    if cell.pending > 0 {
        let _ = write!(text, " +{}", cell.pending);
    }
    text
}

/// A line. A spreadsheet would take a text that begins so for a formula, and run it.
fn line(fields: &[String]) -> String {
    let quoted: Vec<String> = fields
        .iter()
        .map(|field| {
            let formula = field.starts_with(['=', '+', '-', '@', '\t', '\r'])
                && field.parse::<f64>().is_err();
            let field = if formula {
                format!("'{field}")
            } else {
                field.clone()
            };
            if field.contains(['"', ',', '\n', '\r', '\t']) {
                format!("\"{}\"", field.replace('"', "\"\""))
            } else {
                field
            }
        })
        .collect();
    quoted.join(",") + "\r\n"
}

#[cfg(test)]
mod tests {
    use crate::cli::export::tests::results;

    #[test]
    fn the_table_is_exact_and_harmless() {
        let table = super::write(&results());
        let lines: Vec<&str> = table.split("\r\n").collect();
        assert_eq!(
            lines[0],
            "rank,team_id,icpc_id,name,organization,groups,solved,penalty,last_accepted,A"
        );
        assert_eq!(
            lines[1],
            "1,t1,1001,<script>alert(1)</script>,Ø & Co,North,1,30,10,2 (10)"
        );
        assert_eq!(lines[2], ",t9,,Guests,Ø & Co,North,1,40,20,2 (20)");
        assert_eq!(
            lines[3],
            "2,t2,,\"'=cmd|' /C calc'!A0, \"\"x\"\"\t\u{202e}\",Ø & Co,North,0,0,0,0 +1"
        );
    }
}
