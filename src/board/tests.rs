use std::sync::Arc;

use proptest::{collection::vec, option, prelude::*, sample::select};

use super::*;

/// A few members, so that they meet often; ids whose UTF-16 order is not their UTF-8 order among them.
const MEMBERS: [&str; 12] = [
    "a", "b", "c", "d", "e", "f", "g", "Z", "é", "あ", "\u{fffd}", "𝔞",
];

fn shape(ties: Ties, ids: Order) -> Shape {
    let columns = vec![
        Column {
            section: true,
            ..Column::ascending("section")
        },
        Column::descending("solved").ranking(),
        Column::ascending("penalty").ranking(),
        Column::ascending("last"),
    ];
    Shape {
        ties,
        ids,
        ..Shape::new(columns)
    }
}

fn cell() -> impl Strategy<Value = Cell> {
    (0..3u32, 0..2u32, option::of(0..2i64)).prop_map(|(tries, pending, time)| Cell {
        tries,
        pending,
        time,
        ..Cell::default()
    })
}

fn entry(id: &'static str) -> impl Strategy<Value = Arc<Entry>> {
    let cells = proptest::collection::btree_map(
        select(vec!["A", "B", "C"]).prop_map(Id::from),
        cell(),
        0..3,
    );
    ((0..2i64, 0..3i64, 0..3i64, 0..2i64), cells, 0..8u8).prop_map(move |(values, cells, label)| {
        let label = Label {
            name: if label == 0 {
                "other".into()
            } else {
                id.into()
            },
            official: label != 1,
            ..Label::default()
        };
        let values = Values::new(&[values.0, values.1, values.2, values.3]).unwrap();
        Arc::new(Entry {
            id: id.into(),
            values,
            label: Arc::new(label),
            cells,
        })
    })
}

type Change = (Id, Option<Arc<Entry>>);

fn change() -> impl Strategy<Value = Change> {
    select(MEMBERS.to_vec()).prop_flat_map(|id| {
        (
            Just(Id::from(id)),
            prop_oneof![4 => entry(id).prop_map(Some), 1 => Just(None)],
        )
    })
}

fn history() -> impl Strategy<Value = Vec<Vec<Change>>> {
    vec(vec(change(), 0..4), 1..40)
}

fn ties() -> impl Strategy<Value = Ties> {
    select(vec![
        Ties::Competition,
        Ties::Dense,
        Ties::Modified,
        Ties::Ordinal,
    ])
}

/// A lane's delta as the hub makes it: the step's difference, and the count behind the edge.
fn lane_delta(board: &Board, step: &Step, limit: Option<usize>) -> Delta {
    let mut delta = board.step_delta(step, limit);
    delta.tied_beyond = Some(board.tied_beyond(limit));
    delta
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// From any version to any later one, one by one, merged, or resumed, for any limit: exactly the later window.
    #[test]
    fn deltas_lead_to_the_window_of_the_later_version(
        history in history(), ties in ties(), ids in select(vec![Order::Asc, Order::Desc]),
        limit in option::of(1usize..9),
    ) {
        let mut board = Board::new(shape(ties, ids));
        let mut windows = vec![Window::of(&board, limit)];
        let mut deltas: Vec<Delta> = Vec::new();
        for (index, changes) in history.into_iter().enumerate() {
            if let Some(step) = board.update(index as u64 + 1, changes) {
                deltas.push(lane_delta(&board, &step, limit));
                windows.push(Window::of(&board, limit));
            }
            // The order is right after every step.
            let keys: Vec<_> = board.window(None).map(|e| (e.values, e.id.clone())).collect();
            for pair in keys.windows(2) {
                prop_assert!(board.shape().compare((&pair[0].0, &pair[0].1), (&pair[1].0, &pair[1].1)).is_lt());
            }
        }
        let last = windows.last().unwrap();
        for (start, window) in windows.iter().enumerate() {
            let mut one_by_one = window.clone();
            let mut merged: Option<Delta> = None;
            for (delta, expected) in deltas[start..].iter().zip(&windows[start + 1..]) {
                prop_assert!(one_by_one.apply(delta).unwrap());
                prop_assert_eq!(&one_by_one, expected);
                match &mut merged {
                    Some(merged) => merged.then(delta.clone()),
                    None => merged = Some(delta.clone()),
                }
                // A merged delta is right for every version that it spans.
                for between in &windows[start..] {
                    let mut between = between.clone();
                    if between.version() < delta.version {
                        prop_assert!(between.apply(merged.as_ref().unwrap()).unwrap());
                        prop_assert_eq!(&between, expected);
                    }
                }
            }
            let mut resumed = window.clone();
            let delta = board.since(window.version(), limit).unwrap();
            resumed.apply(&delta).unwrap();
            prop_assert_eq!(&resumed, last);
        }
    }

    /// Comparing keys byte by byte is comparing columns, for all values.
    #[test]
    fn key_order_is_column_order(a in any::<[i64; 4]>(), b in any::<[i64; 4]>(), same in 0..5usize) {
        let mut b = b;
        b[..same.min(4)].copy_from_slice(&a[..same.min(4)]);
        let shape = shape(Ties::Competition, Order::Asc);
        let (a, b) = (Values::new(&a).unwrap(), Values::new(&b).unwrap());
        prop_assert_eq!(shape.key(&a).cmp(&shape.key(&b)), shape.compare((&a, ""), (&b, "")));
        prop_assert_eq!(shape.key(&a).decode(&shape.columns), a);
    }

    /// Each policy gives what its definition says, counted by hand.
    #[test]
    fn ranks_follow_their_definition(changes in vec(change(), 0..20), ties in ties()) {
        let mut board = Board::new(shape(ties, Order::Asc));
        board.update(1, changes);
        let shape = board.shape().clone();
        let entries: Vec<_> = board.window(None).cloned().collect();
        for ((index, entry), rank) in entries.iter().enumerate().zip(board.ranks()) {
            if !entry.label.official {
                prop_assert_eq!(rank, None);
                continue;
            }
            let peers = || entries.iter().enumerate().filter(|(_, e)| {
                e.label.official && shape.same_section(&e.values, &entry.values)
            });
            let ahead = |e: &Entry| (-e.values[1], e.values[2]) < (-entry.values[1], entry.values[2]);
            let better = peers().filter(|(_, e)| ahead(e)).count();
            let expected = match ties {
                Ties::Competition => better + 1,
                Ties::Modified => better + peers().filter(|(_, e)| shape.tied(&e.values, &entry.values)).count(),
                Ties::Ordinal => peers().filter(|(other, _)| *other < index).count() + 1,
                Ties::Dense => {
                    let groups: HashSet<_> =
                        peers().filter(|(_, e)| ahead(e)).map(|(_, e)| (e.values[1], e.values[2])).collect();
                    groups.len() + 1
                }
            };
            prop_assert_eq!(rank, Some(expected));
        }
    }

    /// The ranks of a window are those of the board, also where the tie goes on behind the edge.
    #[test]
    fn ranks_of_a_window_are_those_of_the_board(changes in vec(change(), 0..20), ties in ties(), limit in 1usize..9) {
        let mut board = Board::new(shape(ties, Order::Asc));
        board.update(1, changes);
        let window = Window::of(&board, Some(limit));
        let ranks = board.ranks();
        prop_assert_eq!(window.ranks(), &ranks[..limit.min(ranks.len())]);
    }
}

#[test]
fn the_extremes_of_i64_sort() {
    let columns = vec![Column::descending("score")];
    let keys: Vec<Key> = [i64::MAX, 1, 0, -1, i64::MIN]
        .iter()
        .map(|value| Key::encode(&columns, &Values::new(&[*value]).unwrap()))
        .collect();
    assert!(keys.is_sorted());
}

#[test]
fn a_delta_with_a_hole_is_refused_and_changes_nothing() {
    let mut board = Board::new(Shape::new(vec![Column::descending("score")]));
    let mut window = Window::of(&board, None);
    board.update(1, vec![("a".into(), Some(Entry::plain("a", &[1]).into()))]);
    let step = board
        .update(2, vec![("a".into(), Some(Entry::plain("a", &[2]).into()))])
        .unwrap();
    let delta = board.step_delta(&step, None);
    let before = window.clone();
    assert_eq!(window.apply(&delta).unwrap_err().from, 1);
    assert_eq!(window, before);
}

#[test]
fn what_changes_nothing_moves_no_version() {
    let mut board = Board::new(Shape::new(vec![Column::descending("score")]));
    let entry: Arc<Entry> = Entry::plain("a", &[1]).into();
    assert!(
        board
            .update(1, vec![("a".into(), Some(entry.clone()))])
            .is_some()
    );
    assert!(
        board
            .update(2, vec![("a".into(), Some(entry)), ("b".into(), None)])
            .is_none()
    );
    assert_eq!(board.version(), 1);
}

#[test]
fn a_version_that_is_forgotten_asks_for_a_snapshot() {
    let mut board = Board::new(Shape::new(vec![Column::descending("score")]));
    let kept = CHANGES_KEPT as u64;
    for version in 1..=kept + 10 {
        board.update(
            version,
            vec![(
                "a".into(),
                Some(Entry::plain("a", &[version as i64]).into()),
            )],
        );
    }
    assert!(board.since(9, None).is_none());
    assert!(board.since(10, None).is_some());
    board.reshape(
        kept + 11,
        Shape::new(vec![Column::ascending("score")]),
        vec![Entry::plain("a", &[1]).into()],
    );
    assert!(
        board.since(kept + 10, None).is_none(),
        "no delta leads across another shape"
    );
}
