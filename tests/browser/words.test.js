import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { faceOf } from '../../static/js/cell.js';
import { clockWords, freezeNotice, momentOf } from '../../static/js/clock.js';
import { formatDecimal, formatSeconds, formatValue } from '../../static/js/format.js';

describe('numbers', () => {
  test('decimals are exact, at any size', () => {
    assert.equal(formatDecimal(12345, 2), '123.45');
    assert.equal(formatDecimal(-5, 2), '−0.05');
    assert.equal(formatDecimal(0, 3), '0.000');
    assert.equal(formatDecimal('9007199254740993', 1), '900719925474099.3');
    assert.equal(formatDecimal(10000, 2, { trim: true }), '100');
    assert.equal(formatDecimal(100, 0, { trim: true }), '100');
    assert.equal(formatDecimal(9650, 2, { trim: true }), '96.5');
  });

  test('penalties in minutes are integers, in seconds h:mm:ss beyond a day', () => {
    assert.equal(formatValue(979, { unit: 'min' }), '979');
    assert.equal(formatValue(-20, { unit: 'min' }), '−20');
    assert.equal(formatValue(3723, { unit: 's' }), '1:02:03');
    assert.equal(formatSeconds(100 * 3600), '100:00:00');
    assert.equal(formatSeconds(-59), '−0:00:59');
  });
});

describe('cells', () => {
  const units = { time: { unit: 'min' }, score: { scale: 2 } };
  const short = (cell, problem = {}) => {
    const { state, mark, detail, first } = faceOf(cell, problem, units);
    return [state, mark, detail, first];
  };
  test('ICPC', () => {
    assert.deepEqual(short(undefined), ['none', '', '', false]);
    assert.deepEqual(short({ tries: 0 }), ['none', '', '', false]);
    assert.deepEqual(short({ tries: 1, time: 0 }), ['solved', '+', '0', false]);
    assert.deepEqual(short({ tries: 3, time: 59, first: true }), ['solved', '+2', '59', true]);
    assert.deepEqual(short({ tries: 2 }), ['wrong', '−2', '', false]);
    assert.deepEqual(short({ tries: 0, pending: 1 }), ['pending', '?', '', false]);
    assert.deepEqual(short({ tries: 1, pending: 2 }), ['pending', '?2', '−1', false]);
  });

  test('a score of 0 is not the same as no submission', () => {
    assert.deepEqual(short({ tries: 1, score: 0 }), ['wrong', '0', '', false]);
    assert.deepEqual(short({ tries: 2, score: 9650 }), ['solved', '96.5', '×2', false]);
    assert.equal(faceOf({ tries: 1, score: 2500 }, { max_score: 10000 }, units).share, 0.25);
    assert.equal(faceOf({ tries: 1, score: 10000 }, { max_score: 10000 }, units).share, null);
  });
});

describe('the contest clock', () => {
  const start = Date.parse('2026-01-01T10:00:00Z');
  const state = { phase: 'running', start_time: '2026-01-01T10:00:00Z', duration_ms: 18_000_000, freeze_ms: 3_600_000, countdown_pause_ms: null };
  const at = (ms, more) => momentOf({ ...state, ...more }, start + ms);

  test('elapsed and remaining always add up', () => {
    assert.deepEqual(clockWords(at(3_723_400), null), { time: '1:02:03', aside: '3:57:57 left' });
  });

  test('counts down before the start and never shows zero early', () => {
    assert.deepEqual(clockWords(at(-500, { phase: 'before' }), null), { time: '0:00:01', aside: 'until the start' });
  });

  test('the phase moves on by itself where the clock has passed a boundary', () => {
    assert.equal(at(0, { phase: 'before' }).phase, 'running');
    assert.equal(at(14_400_000).phase, 'frozen');
    assert.equal(at(14_399_999).phase, 'running');
    assert.equal(at(18_000_000).phase, 'ended');
    assert.equal(at(99_000_000, { phase: 'thawed' }).phase, 'thawed');
    assert.equal(at(99_000_000, { phase: 'before', countdown_pause_ms: 1_000 }).phase, 'before');
  });

  test('the freeze is said plainly until it is lifted, and not to the jury', () => {
    assert.match(freezeNotice(at(15_000_000), 'public'), /frozen since 4:00:00/);
    assert.match(freezeNotice(at(19_000_000), 'public'), /still frozen/);
    assert.equal(freezeNotice(at(19_000_000), 'jury'), null);
    assert.equal(freezeNotice(at(19_000_000, { phase: 'thawed' }), 'public'), null);
    assert.equal(freezeNotice(at(15_000_000, { freeze_ms: null }), 'public'), null);
  });
});
