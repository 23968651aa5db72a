//! Makes a contest out of a number: teams with names in many scripts, and what they send in.
//!
//! Teams have a strength, problems a difficulty; each team works on what looks easiest to it. Submissions come at an even pace,
//! so that somebody who opens the page sees it move within a second.

use std::fmt::Write as _;

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};
use serde_json::{Value, json};

use crate::contest::clock;

/// The length of the contest.
pub const DURATION_MS: i64 = 40 * 60_000;

/// How long before the end the board is frozen.
pub const FREEZE_MS: i64 = 8 * 60_000;

/// What a wrong attempt costs.
pub const PENALTY_MINUTES: i64 = 5;

/// Submissions come within this time after one another.
const PACE_MS: i64 = 900;

/// A verdict comes so long after its submission: between the submissions that follow.
const JUDGING_MS: i64 = 2_250;

/// First and second halves of names, a script each.
const NAMES: [([&str; 5], [&str; 5]); 12] = [
    (
        ["Quiet", "Brave", "Lucky", "Silver", "Rapid"],
        ["Otters", "Falcons", "Lanterns", "Pebbles", "Comets"],
    ),
    (
        ["Тихі", "Швидкі", "Зоряні", "Веселі", "Мудрі"],
        ["Лелеки", "Хвилі", "Вершники", "Каштани", "Сови"],
    ),
    (
        ["静かな", "速い", "青い", "小さな", "輝く"],
        ["かもめ", "ほしぞら", "くじら", "もみじ", "ふくろう"],
    ),
    (
        ["安静的", "快乐", "银色", "勇敢", "聪明"],
        ["熊猫", "流星", "竹林", "海浪", "灯笼"],
    ),
    (
        ["조용한", "빠른", "푸른", "작은", "빛나는"],
        ["수달", "별빛", "고래", "단풍", "부엉이"],
    ),
    (
        ["هادئ", "سريع", "ذكي", "شجاع", "لامع"],
        ["الصقور", "النجوم", "الفجر", "الغزال", "القمر"],
    ),
    (
        ["שקט", "מהיר", "אמיץ", "כחול", "חכם"],
        ["הנשרים", "הכוכבים", "הגלים", "הרימון", "הינשופים"],
    ),
    (
        ["Ήσυχες", "Γρήγορες", "Ασημένιες", "Μικρές", "Σοφές"],
        ["Ελιές", "Αλκυόνες", "Φωτιές", "Πέτρες", "Νύχτες"],
    ),
    (
        ["शांत", "तेज़", "नीले", "छोटे", "बहादुर"],
        ["मोर", "तारे", "कमल", "हाथी", "बादल"],
    ),
    (
        ["เงียบ", "เร็ว", "กล้า", "สดใส", "ใจดี"],
        ["ช้าง", "ดาว", "ดอกบัว", "นกฮูก", "คลื่น"],
    ),
    (
        ["წყნარი", "სწრაფი", "ლურჯი", "მამაცი", "ბრძენი"],
        ["არწივები", "ვარსკვლავები", "ტალღები", "მთები", "ბუები"],
    ),
    (
        ["Ruhige", "Schnelle", "Großzügige", "Übermütige", "Kühne"],
        ["Füchse", "Wölkchen", "Eichhörnchen", "Störche", "Sterne"],
    ),
];

const PLACES: [&str; 12] = [
    "Lindenberg",
    "Київ",
    "Sakura",
    "长江",
    "한강",
    "الواحة",
    "גליל",
    "Αιγαίο",
    "Ganga",
    "Chao Phraya",
    "მთაწმინდა",
    "Île-Verte",
];

const KINDS: [&str; 4] = [
    "University",
    "Institute of Technology",
    "College",
    "Academy",
];

const COLORS: [(&str, &str); 13] = [
    ("red", "#e6194b"),
    ("green", "#3cb44b"),
    ("yellow", "#ffe119"),
    ("blue", "#4363d8"),
    ("orange", "#f58231"),
    ("purple", "#911eb4"),
    ("cyan", "#42d4f4"),
    ("magenta", "#f032e6"),
    ("lime", "#bfef45"),
    ("pink", "#fabed4"),
    ("teal", "#469990"),
    ("brown", "#9a6324"),
    ("navy", "#000075"),
];

/// A contest, ready to be played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    setting: Vec<String>,
    /// When each line is due, in ms of contest time.
    events: Vec<(i64, String)>,
}

impl Plan {
    /// The contest of a seed: always the same one.
    pub fn new(seed: u64, teams: usize, problems: usize) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        Self {
            setting: setting(&mut random, teams, problems),
            events: events(&mut random, teams, problems),
        }
    }

    /// Groups, organizations, teams and problems, as lines.
    pub fn setting(&self) -> Vec<u8> {
        let mut lines = self.setting.join("\n").into_bytes();
        lines.push(b'\n');
        lines
    }

    /// Submissions and judgements, in order of time.
    pub fn events(&self) -> &[(i64, String)] {
        &self.events
    }
}

fn line(kind: &str, object: &Value) -> String {
    json!({ "type": kind, "id": object["id"], "data": object }).to_string()
}

fn setting(random: &mut StdRng, teams: usize, problems: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for (id, name) in [
        ("students", "Students"),
        ("guests", "Guests"),
        ("unofficial", "Out of competition"),
    ] {
        lines.push(line("groups", &json!({ "id": id, "name": name })));
    }
    let organizations = teams.div_ceil(3);
    for number in 0..organizations {
        let (place, kind) = (
            PLACES[number % PLACES.len()],
            KINDS[number / PLACES.len() % KINDS.len()],
        );
        let name = format!(
            "{kind} {place}{}",
            nth(number / (PLACES.len() * KINDS.len()))
        );
        lines.push(line(
            "organizations",
            &json!({ "id": format!("o{}", number + 1), "name": name }),
        ));
    }
    for number in 0..teams {
        let (first, second) = &NAMES[number % NAMES.len()];
        let (first, second) = (pick(random, first), pick(random, second));
        let group = if number % 24 == 23 {
            "unofficial"
        } else if number % 5 == 4 {
            "guests"
        } else {
            "students"
        };
        lines.push(line(
            "teams",
            &json!({
                "id": format!("t{}", number + 1),
                "name": format!("{first} {second}{}", nth(number / 60)),
                "organization_id": format!("o{}", number % organizations + 1),
                "group_ids": [group],
            }),
        ));
    }
    for number in 0..problems {
        let label = char::from(b'A' + (number % 26) as u8).to_string();
        let (color, rgb) = COLORS[number % COLORS.len()];
        let problem = json!({
            "id": label, "label": label, "name": format!("Problem {label}"), "ordinal": number, "color": color, "rgb": rgb,
        });
        lines.push(line("problems", &problem));
    }
    lines
}

fn nth(number: usize) -> String {
    if number == 0 {
        String::new()
    } else {
        format!(" {}", number + 1)
    }
}

fn pick<'a>(random: &mut StdRng, words: &[&'a str]) -> &'a str {
    words.choose(random).copied().unwrap_or("?")
}

/// Who sends in what, and what becomes of it.
fn events(random: &mut StdRng, teams: usize, problems: usize) -> Vec<(i64, String)> {
    let difficulty: Vec<f64> = (0..problems)
        .map(|number| number as f64 / problems as f64 * 5.0 - 2.0)
        .collect();
    let mut order: Vec<usize> = (0..problems).collect();
    // The letters do not tell how hard a problem is.
    for index in (1..problems).rev() {
        order.swap(index, random.random_range(0..=index));
    }
    let strength: Vec<f64> = (0..teams)
        .map(|_| (0..4).map(|_| random.random_range(-1.0..1.0)).sum::<f64>())
        .collect();
    let mut solved = vec![vec![false; problems]; teams];
    let mut out = Vec::new();
    let mut at = PACE_MS;
    let mut number = 0;
    while at + JUDGING_MS < DURATION_MS {
        // Somebody who has something left to solve; in a contest of few teams there may be nobody.
        let mut team = random.random_range(0..teams);
        let busy = (0..teams)
            .map(|step| (team + step) % teams)
            .find(|team| solved[*team].contains(&false));
        team = busy.unwrap_or(team);
        // What looks easiest among what is left, give or take.
        let choice = (0..problems)
            .filter(|problem| !solved[team][*problem])
            .map(|problem| {
                (
                    difficulty[order[problem]] + random.random_range(0.0..2.5),
                    problem,
                )
            })
            .min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, problem)) = choice {
            number += 1;
            let progress = at as f64 / DURATION_MS as f64;
            let chance =
                1.0 / (1.0 + (difficulty[order[problem]] - strength[team] - 1.5 * progress).exp());
            let verdict = if random.random_bool(chance.clamp(0.02, 0.95) * 0.6) {
                solved[team][problem] = true;
                "AC"
            } else {
                pick(random, &["WA", "WA", "WA", "TLE", "RTE", "CE"])
            };
            let label = char::from(b'A' + (problem % 26) as u8).to_string();
            let mut team_id = String::new();
            let _ = write!(team_id, "t{}", team + 1);
            let submission = json!({
                "id": format!("s{number}"), "team_id": team_id, "problem_id": label, "language_id": "cpp",
                "contest_time": clock::format_relative(at),
            });
            out.push((at, line("submissions", &submission)));
            let judged = at + JUDGING_MS;
            let judgement = json!({
                "id": format!("j{number}"), "submission_id": format!("s{number}"), "judgement_type_id": verdict,
                "start_contest_time": clock::format_relative(at), "end_contest_time": clock::format_relative(judged),
            });
            out.push((judged, line("judgements", &judgement)));
        }
        at += PACE_MS + random.random_range(-200..=200);
    }
    out.sort_by_key(|(at, _)| *at);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contest::{Contest, Notification, Side};

    #[test]
    fn a_seed_gives_one_contest_and_another_seed_another() {
        assert_eq!(Plan::new(7, 20, 8), Plan::new(7, 20, 8));
        assert_ne!(Plan::new(7, 20, 8), Plan::new(8, 20, 8));
    }

    #[test]
    fn everything_counts_and_something_moves_every_second() {
        let plan = Plan::new(1, 120, 12);
        let mut contest = Contest::new("demo");
        let setting = String::from_utf8(plan.setting()).unwrap();
        let lines = setting
            .lines()
            .chain(plan.events().iter().map(|(_, line)| line.as_str()));
        for (index, line) in lines.enumerate() {
            let event = Notification::parse(line.as_bytes())
                .unwrap()
                .unwrap()
                .event()
                .unwrap();
            contest.fold(index as u64 + 1, &event, false);
        }
        assert_eq!(contest.all_aside(), []);
        let board = contest.board(Side::Jury);
        assert_eq!(board.len(), 120);
        let best = board.window(Some(1)).next().unwrap().values[0];
        assert!((6..=12).contains(&best), "the winner solved {best}");
        // At the very end the last verdicts come alone.
        let quiet = |pair: &&[(i64, String)]| pair[1].0 - pair[0].0 > 1_100;
        let busy = plan
            .events()
            .partition_point(|(at, _)| *at < DURATION_MS - 2 * JUDGING_MS);
        assert_eq!(plan.events()[..busy].windows(2).find(quiet), None);
    }
}
