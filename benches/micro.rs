//! The parts of an update: keys, boards and their windows, differences, frames.
//!
//! `cargo bench --bench micro`.

use std::{collections::BTreeMap, sync::Arc};

use divan::{Bencher, black_box as bb};
use rankcast::{
    board::{Board, Cell, Column, Delta, Entry, Id, Key, Row, Shape, Values, Window},
    protocol::{Message, message::WholeRow},
};

/// The window that most viewers watch.
const LIMIT: usize = 100;

fn main() {
    divan::main();
}

#[divan::bench]
fn key(bencher: Bencher) {
    let shape = shape();
    let values = Values::new(&[9, 979, 259]).expect("three values");
    bencher.bench(|| shape.key(bb(&values)));
}

#[divan::bench]
fn key_back(bencher: Bencher) {
    let shape = shape();
    let key: Key = shape.key(&Values::new(&[9, 979, 259]).expect("three values"));
    bencher.bench(|| bb(&key).decode(&shape.columns));
}

fn shape() -> Shape {
    Shape::new(vec![
        Column::descending("solved").ranking(),
        Column::ascending("penalty").ranking(),
        Column::ascending("last_accepted"),
    ])
}

fn board(entries: usize) -> Board {
    let mut board = Board::new(shape());
    let rows = (0..entries).map(|n| {
        let id: Id = format!("t{n}").into();
        let entry = Entry::plain(&id, &[(n % 12) as i64, (n * 37 % 3000) as i64, 0]);
        (id, Some(entry.into()))
    });
    board.update(1, rows.collect());
    board
}

#[divan::bench(args = [120, 2_554, 20_000, 50_000])]
fn move_one_entry(bencher: Bencher, entries: usize) {
    let mut board = board(entries);
    let mut version = 1;
    bencher.bench_local(|| {
        version += 1;
        let number = version as usize * 7919 % entries;
        let id: Id = format!("t{number}").into();
        let entry = Entry::plain(&id, &[(version % 13) as i64, version as i64, 0]);
        let step = board.update(version, vec![(id, Some(entry.into()))]);
        step.map(|step| board.step_delta(&step, Some(100)))
    });
}

#[divan::bench(args = [100, 2_554])]
fn resume_after_a_hundred_changes(bencher: Bencher, entries: usize) {
    let mut board = board(entries);
    for version in 2..102 {
        let id: Id = format!("t{}", version * 13 % entries as u64).into();
        let entry = Entry::plain(&id, &[version as i64, 0, 0]);
        board.update(version, vec![(id, Some(entry.into()))]);
    }
    bencher.bench(|| board.since(1, Some(100)));
}

/// A board whose entries have cells, as a contest's have, a change of one entry in the window, and what that makes.
fn changed() -> (Board, Arc<Entry>, Arc<Entry>, Delta, Window) {
    let mut board = board(352);
    let before = board
        .window(Some(LIMIT))
        .nth(50)
        .expect("a full window")
        .clone();
    let mut old = Entry::clone(&before);
    let cell = |time| Cell {
        tries: 2,
        time: Some(time),
        ..Cell::default()
    };
    old.cells = (0..9_u8)
        .map(|n| {
            (
                char::from(b'A' + n).to_string().as_str().into(),
                cell(i64::from(n) * 20),
            )
        })
        .collect::<BTreeMap<_, _>>();
    let mut new = old.clone();
    new.values = Values::new(&[12, 979, 259]).expect("three values");
    new.cells.insert("J".into(), cell(259));
    let (old, new) = (Arc::new(old), Arc::new(new));
    board.update(2, vec![(old.id.clone(), Some(old.clone()))]);
    let window = Window::of(&board, Some(LIMIT));
    let step = board
        .update(3, vec![(new.id.clone(), Some(new.clone()))])
        .expect("a change");
    let delta = board.step_delta(&step, Some(LIMIT));
    (board, old, new, delta, window)
}

/// The window of a viewer that has just come.
#[divan::bench]
fn window_of_a_board(bencher: Bencher) {
    let (board, ..) = changed();
    bencher.bench(|| Window::of(bb(&board), Some(LIMIT)));
}

/// What a viewer does with a delta.
#[divan::bench]
fn apply_a_delta_to_a_window(bencher: Bencher) {
    let (.., delta, window) = changed();
    bencher
        .with_inputs(|| window.clone())
        .bench_values(|mut window| {
            window.apply(bb(&delta)).expect("it follows");
            window
        });
}

#[divan::bench]
fn difference_of_a_row(bencher: Bencher) {
    let (_, old, new, ..) = changed();
    bencher.bench(|| Row::difference(bb(&old), bb(&new)));
}

#[divan::bench]
fn merge_two_deltas(bencher: Bencher) {
    let (.., delta, _) = changed();
    bencher
        .with_inputs(|| (delta.clone(), delta.clone()))
        .bench_values(|(mut first, second)| {
            first.then(second);
            first
        });
}

#[divan::bench]
fn encode_a_delta(bencher: Bencher) {
    let (.., delta, _) = changed();
    bencher.bench(|| Message::Delta(bb(&delta)).encode());
}

/// The rows of a snapshot.
#[divan::bench]
fn encode_a_window(bencher: Bencher) {
    let (board, ..) = changed();
    bencher.bench(|| {
        let rows: Vec<_> = board
            .window(Some(LIMIT))
            .map(|entry| WholeRow::of(entry))
            .collect();
        serde_json::to_vec(&rows)
    });
}
