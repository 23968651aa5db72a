import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { Board, compareUtf8, displayOrder, NameOrder, ranksOf } from '../../static/js/board.js';
import { exactOrder } from '../../static/js/order.js';
import { generator, seed } from './random.js';

const plain = value => JSON.parse(JSON.stringify(value));
/** A row without cells and one whose last cell went are the same to everyone who reads them. */
const shown = rows => plain(rows).map(({ cells = {}, ...row }) => ({ ...row, cells }));

describe('the fixtures shared with the server', () => {
  const directory = new URL('../fixtures/board/', import.meta.url);
  const files = readdirSync(directory).filter(name => name.endsWith('.json'));
  test('there are some', () => assert.ok(files.length > 0));
  for (const file of files) {
    test(file, () => {
      const { snapshot, steps } = JSON.parse(readFileSync(new URL(file, directory), 'utf8'));
      const board = new Board(snapshot);
      steps.forEach(({ message, outcome, board: expected }, i) => {
        const at = `step ${i + 1}`;
        assert.equal(board.apply(message), outcome, at);
        assert.equal(board.version, expected.version, at);
        assert.equal(board.total, expected.total, at);
        assert.deepEqual(shown(board.rows), shown(expected.rows), at);
        assert.deepEqual(board.ranks, expected.ranks, at);
      });
    });
  }
});

describe('orders', () => {
  test('ids compare as their UTF-8 bytes do', () => {
    const { pick, below } = generator();
    const letters = ['a', 'z', '\u007f', 'é', '日', '\ud7ff', '\ue000', '～', '\uffff', '🦊', '\u{10ffff}'];
    const word = () => Array.from({ length: below(4) }, () => pick(letters)).join('');
    for (let i = 0; i < 5_000; i++) {
      const [a, b] = [word(), word()];
      assert.equal(Math.sign(compareUtf8(a, b)), Buffer.compare(Buffer.from(a), Buffer.from(b)), `${a} ${b}, SEED=${seed}`);
    }
  });

  test('values beyond 2^53 travel as strings and keep every digit', () => {
    const columns = [{ order: 'desc', rank: true }];
    const rows = ['9007199254740993', 9007199254740991, '9007199254740992'].map((value, i) => ({ id: `t${i}`, values: [value] }));
    const order = rows.sort(exactOrder(columns, 'asc')).map(row => row.id);
    assert.deepEqual(order, ['t0', 't2', 't1']);
    assert.deepEqual(ranksOf(rows, columns, 'competition'), [1, 2, 3]);
  });

  const tied = ties => new Board({
    type: 'snapshot', epoch: 'e', version: 1, ids: 'asc', ties, limit: null, total: 4,
    columns: [{ name: 'solved', order: 'desc', rank: true }],
    rows: [
      { id: 'a', values: [1], name: 'zeta' }, { id: 'b', values: [1], name: 'Éclair' }, { id: 'c', values: [1], name: 'apple' },
      { id: 'd', values: [0] },
    ],
  });

  test('people read equal rows by name, whatever their ids', () => {
    const places = displayOrder(tied('competition'));
    assert.deepEqual(places.map(({ row, rank }) => [row.id, rank]), [['c', 1], ['b', 1], ['a', 1], ['d', 4]]);
  });

  test('under ordinal ranks the exact order stays, so that ranks never run backwards', () => {
    assert.deepEqual(displayOrder(tied('ordinal')).map(({ rank }) => rank), [1, 2, 3, 4]);
  });

  test('a kept name order follows renames and newcomers', () => {
    const board = tied('competition');
    const names = new NameOrder();
    const ids = () => displayOrder(board, names).map(({ row }) => row.id).join('');
    assert.equal(ids(), 'cbad');
    board.apply({ type: 'delta', from: 1, version: 2, rows: [{ id: 'c', name: 'zzz' }, { id: 'e', full: true, values: [1], name: 'm' }], gone: [] });
    assert.equal(ids(), 'beacd');
  });
});

describe('ranks by tie policy', () => {
  const columns = [{ order: 'desc', rank: true }, { order: 'asc', rank: false }];
  const rows = [9, 7, 7, 5].map((value, i) => ({ values: [value, i] }));
  for (const [ties, expected] of [['competition', [1, 2, 2, 4]], ['dense', [1, 2, 2, 3]], ['modified', [1, 3, 3, 4]], ['ordinal', [1, 2, 3, 4]]]) {
    test(`${ties}: ${expected.join(', ')}`, () => assert.deepEqual(ranksOf(rows, columns, ties), expected));
  }
  test('an empty board has none', () => assert.deepEqual(ranksOf([], columns, 'modified', 3), []));
});

describe('what travels beside the deltas', () => {
  const snapshot = more => ({
    type: 'snapshot', epoch: 'e', version: 10, columns: [{ name: 'solved', order: 'desc', rank: true }], ids: 'asc',
    ties: 'competition', limit: null, total: 0, rows: [], problems: [{ id: 'A', solved: 1, first: 't1' }], ...more,
  });

  test('changed problems replace theirs whole, new ones come behind, old news is ignored', () => {
    const board = new Board(snapshot());
    assert.equal(board.apply({ type: 'problems', version: 9, problems: [{ id: 'A', solved: 0 }] }), 'ignored');
    assert.equal(board.apply({ type: 'problems', version: 12, problems: [{ id: 'B', solved: 0 }, { id: 'A', solved: 2 }] }), 'applied');
    assert.deepEqual(board.problems, [{ id: 'A', solved: 2 }, { id: 'B', solved: 0 }]);
    assert.equal(board.version, 10);
  });

  test('a snapshot encoded earlier does not take the phase back', () => {
    const board = new Board(snapshot({ state: { phase: 'running', now: '2026-01-01T10:00:00.000Z' } }));
    board.apply({ type: 'state', phase: 'frozen', now: '2026-01-01T11:00:00.000Z' });
    board.apply(snapshot({ version: 11, state: { phase: 'running', now: '2026-01-01T10:59:59.000Z' } }));
    assert.equal(board.state.phase, 'frozen');
    assert.equal(board.version, 11);
  });

  test('an older snapshot of this epoch is ignored, one of another epoch is not', () => {
    const board = new Board(snapshot());
    assert.equal(board.apply(snapshot({ version: 9 })), 'ignored');
    assert.equal(board.apply(snapshot({ version: 3, epoch: 'f' })), 'applied');
    assert.equal(board.position, 'f-3');
  });

  test('problems may be called like parts of the language', () => {
    const board = new Board(JSON.parse(JSON.stringify(snapshot({ rows: [{ id: 't', values: [0], cells: {} }] }))));
    assert.equal(board.row('t').cells.constructor, undefined);
    board.apply(JSON.parse('{"type":"delta","from":10,"version":11,"rows":[{"id":"t","cells":{"__proto__":{"tries":1}}}],"gone":[]}'));
    assert.deepEqual(JSON.stringify(board.row('t').cells), '{"__proto__":{"tries":1}}');
  });

  test('rows that did not change stay the same objects', () => {
    const board = new Board(snapshot({ rows: [{ id: 'a', values: [2] }, { id: 'b', values: [1] }] }));
    const [a, b] = board.rows;
    board.apply({ type: 'delta', from: 10, version: 11, rows: [{ id: 'b', values: [3] }], gone: [] });
    assert.equal(board.row('a'), a);
    assert.notEqual(board.row('b'), b);
    assert.deepEqual(b.values, [1]);
  });
});

/** A server in small: all rows, what the window was at each version, and deltas between any two of them. */
class Model {
  constructor(gen) {
    this.gen = gen;
    this.columns = [{ order: 'desc', rank: true }, { order: 'asc', rank: true }, { order: 'asc', rank: false }].slice(0, 1 + gen.below(3));
    this.ids = gen.pick(['asc', 'desc']);
    this.ties = gen.pick(['competition', 'dense', 'modified', 'ordinal']);
    this.limit = gen.pick([null, 1, 3, 10]);
    this.all = new Map();
    this.version = 1;
    for (let i = gen.below(12); i > 0; i--) this.enter();
    this.windows = new Map([[1, this.window()]]);
  }

  enter() {
    const { gen } = this;
    const id = gen.pick(['t', 'é', '🦊', '～', 'T']) + gen.below(12);
    this.all.set(id, { id, values: this.columns.map(() => gen.below(4)), name: `n${gen.below(5)}`, official: gen.below(5) > 0, cells: {} });
  }

  change() {
    const { gen } = this;
    for (let i = gen.below(4); i >= 0; i--) {
      const row = this.all.get(gen.pick([...this.all.keys()]));
      const what = gen.below(6);
      if (!row || what === 0) this.enter();
      else if (what === 1) this.all.delete(row.id);
      else {
        const cells = { ...row.cells };
        const problem = gen.pick(['A', 'B', 'C']);
        if (cells[problem] && gen.below(3) === 0) delete cells[problem];
        else cells[problem] = { tries: gen.below(9) };
        this.all.set(row.id, { ...row, cells, values: this.columns.map(() => gen.below(4)) });
      }
    }
    this.windows.set(++this.version, this.window());
  }

  window() {
    const sorted = [...this.all.values()].sort(exactOrder(this.columns, this.ids));
    const rows = this.limit === null ? sorted : sorted.slice(0, this.limit);
    const ranked = rows.filter(row => row.official).at(-1);
    const equal = row => this.columns.every((column, i) => !column.rank || row.values[i] === ranked.values[i]);
    const tied_beyond = ranked ? sorted.slice(rows.length).filter(row => row.official && equal(row)).length : 0;
    const ranks = ranksOf(sorted, this.columns, this.ties).slice(0, rows.length);
    return { rows, ranks, tied_beyond, total: sorted.length };
  }

  snapshot() {
    const { columns, ids, ties, limit, version } = this;
    const { ranks, ...window } = this.windows.get(version);
    return plain({ type: 'snapshot', epoch: 'e', version, columns, ids, ties, limit, ...window });
  }

  /** From a version to a later one, as the server would merge it: absolute, parts only of rows that never left between. */
  delta(from, version) {
    const old = this.windows.get(from);
    const now = this.windows.get(version);
    const always = id => {
      for (let v = from; v <= version; v++) if (!this.windows.get(v).rows.some(row => row.id === id)) return false;
      return true;
    };
    const before = new Map(old.rows.map(row => [row.id, row]));
    const touched = new Set();
    for (let v = from; v <= version; v++) for (const row of this.windows.get(v).rows) if (before.get(row.id) !== row) touched.add(row.id);
    // Who left and came back is told of even when nothing of it changed: a client in the middle does not have it.
    const rows = now.rows.filter(row => touched.has(row.id) || !always(row.id)).map(row => {
      if (!always(row.id)) return { ...row, full: true };
      const gone = [];
      for (let v = from; v < version; v++) gone.push(...Object.keys(this.windows.get(v).rows.find(known => known.id === row.id).cells));
      const cells = { ...Object.fromEntries(gone.map(problem => [problem, null])), ...row.cells };
      return { id: row.id, values: row.values, cells, name: row.name, official: row.official };
    });
    const seen = new Set([...this.windows].filter(([v]) => v >= from && v <= version).flatMap(([, window]) => window.rows.map(row => row.id)));
    const gone = [...seen].filter(id => !now.rows.some(row => row.id === id));
    return plain({ type: 'delta', from, version, rows, gone, total: now.total, tied_beyond: now.tied_beyond });
  }
}

test('whatever deltas come, merged, late or twice, a board that never resumed is the server’s window', () => {
  for (let round = 0; round < 400; round++) {
    const gen = generator(seed + round);
    const model = new Model(gen);
    const board = new Board(model.snapshot());
    const about = `SEED=${seed + round}`;
    for (let i = 0; i < 25; i++) {
      model.change();
      if (gen.below(3) === 0) continue;
      const from = Math.max(1, model.version - gen.below(6));
      const message = model.delta(from, model.version);
      const mine = board.version;
      const expected = message.version <= mine ? 'ignored' : from <= mine ? 'applied' : 'resume';
      assert.equal(board.apply(message), expected, about);
      const window = model.windows.get(board.version);
      assert.deepEqual(shown(board.rows), shown(window.rows), about);
      assert.equal(board.total, window.total, about);
      // Dense ranks and the others need nothing from beyond the window; modified needs tied_beyond.
      assert.deepEqual(board.ranks, window.ranks, about);
    }
  }
});
