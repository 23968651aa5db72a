//! One file for the archive: the final board as a page that needs nothing else, now or in twenty years.

use std::fmt::Write as _;

use super::Results;
use crate::{
    board::{Cell, Column, Unit},
    contest::{Phase, decimal},
};

const STYLE: &str = "body{font:16px/1.4 system-ui,sans-serif;margin:2rem auto;max-width:80rem;padding:0 1rem;color:#111;background:#fff}\
h1{margin:0}p.meta{color:#555;margin:.25rem 0 1.5rem}table{border-collapse:collapse;width:100%}\
th,td{border-bottom:1px solid #ddd;padding:.3rem .5rem;text-align:center;font-variant-numeric:tabular-nums}\
th.team,td.team{text-align:start}td.team small{display:block;color:#555}tr.guest{color:#777}\
td.solved{background:#d9f2d9}td.first{background:#2e7d32;color:#fff;font-weight:600}td.failed{background:#fbe3e4}td.pending{background:#fff3cd}\
tfoot td{color:#555;border:0}@media print{body{margin:0;max-width:none;font-size:11px}thead{display:table-header-group}tr{break-inside:avoid}}";

/// The page.
pub fn write(results: &Results) -> String {
    let board = &results.board;
    let shown: Vec<(usize, &Column)> = board
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.rank && !column.section)
        .collect();
    let mut out = String::new();
    let name = escaped(&results.name);
    let finality = match board.state.phase {
        Phase::Finalized => "final",
        _ => "not final",
    };
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{name}</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><style>{STYLE}</style></head>\n<body>\
         <h1 dir=\"auto\">{name}</h1>\n<p class=\"meta\">Results, {finality}. {}Written {}.</p>\n<table><thead><tr><th>Rank</th><th class=\"team\">Team</th>",
        board
            .state
            .start_time
            .as_ref()
            .map_or_else(String::new, |start| format!("Started {}. ", escaped(start))),
        escaped(&board.state.now),
    );
    for (_, column) in &shown {
        let unit = if column.unit == Some(Unit::Seconds) {
            " (s)"
        } else {
            ""
        };
        let _ = write!(out, "<th>{}{unit}</th>", escaped(&column.name));
    }
    for problem in &board.problems {
        let _ = write!(
            out,
            "<th title=\"{}\">{}</th>",
            escaped(&problem.name),
            escaped(&problem.label)
        );
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    let scale = shown.first().map_or(0, |(_, column)| column.scale);
    for (rank, entry) in results.rows() {
        let rank_text = rank.map_or_else(String::new, |rank| rank.to_string());
        let class = if rank.is_none() {
            " class=\"guest\""
        } else {
            ""
        };
        let _ = write!(
            out,
            "<tr{class}><td>{rank_text}</td><td class=\"team\"><bdi>{}</bdi>",
            escaped(&entry.label.name)
        );
        if let Some(organization) = &entry.label.organization {
            let _ = write!(out, "<small><bdi>{}</bdi></small>", escaped(organization));
        }
        out.push_str("</td>");
        for (index, column) in &shown {
            let _ = write!(
                out,
                "<td>{}</td>",
                decimal::format(entry.values[*index], column.scale)
            );
        }
        for problem in &board.problems {
            let (class, text) = cell(entry.cells.get(&problem.id), scale);
            let _ = write!(out, "<td class=\"{class}\">{text}</td>");
        }
        out.push_str("</tr>\n");
    }
    let _ = write!(
        out,
        "</tbody>\n<tfoot><tr><td></td><td class=\"team\">Solved / tries</td>{}",
        "<td></td>".repeat(shown.len())
    );
    for problem in &board.problems {
        let _ = write!(out, "<td>{} / {}</td>", problem.solved, problem.tries);
    }
    out.push_str("</tr></tfoot></table>\n</body></html>\n");
    out
}

fn cell(cell: Option<&Cell>, scale: u8) -> (&'static str, String) {
    let Some(cell) = cell else {
        return ("", String::new());
    };
    let class = match (cell.first, cell.time, cell.score, cell.pending) {
        (true, ..) => "first",
        (_, Some(_), ..) => "solved",
        (_, _, Some(score), _) if score > 0 => "solved",
        (_, _, _, pending) if pending > 0 => "pending",
        _ => "failed",
    };
    let mut text = match (cell.score, cell.time) {
        (Some(score), _) => decimal::format(score, scale),
        (None, Some(time)) => format!("{time}<br><small>{}</small>", cell.tries),
        (None, None) => format!("{}", cell.tries),
    };
    if cell.pending > 0 {
        let _ = write!(text, " + {}", cell.pending);
    }
    (class, text)
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::cli::export::tests::results;

    #[test]
    fn the_page_needs_nothing_and_runs_nothing() {
        let page = super::write(&results());
        for never in ["<script", "src=", "href=", "url(", "@import"] {
            assert!(!page.contains(never), "{never}");
        }
        assert!(page.contains("<title>The &lt;Finals&gt;</title>") && page.contains("not final"));
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
        assert!(page.contains("<td class=\"first\">10<br><small>2</small></td>"));
        assert!(page.contains("<tr class=\"guest\"><td></td>"));
        assert!(page.contains("<td>2 / 4</td>"));
    }
}
