import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { faceOf } from '../../static/js/cell.js';
import { clockWords, freezeNotice, momentOf, newestAccepted, phaseWords, progressOf } from '../../static/js/clock.js';
import { formatDecimal, formatSeconds, formatValue } from '../../static/js/format.js';
import { groupOf, lengthWords, relativeTime } from '../../static/js/schedule.js';

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

  test('the phase is the server’s word, whatever our clock says', () => {
    for (const phase of ['before', 'running', 'frozen', 'ended', 'thawed', 'finalized']) {
      for (const ms of [-1, 0, 14_400_000, 18_000_000, 99_000_000_000]) assert.equal(at(ms, { phase }).phase, phase);
    }
  });

  test('around a start or an end that comes late, the time stands still', () => {
    assert.deepEqual(clockWords(at(2_000, { phase: 'before' }), null), { time: '0:00:00', aside: 'about to start' });
    assert.deepEqual(clockWords(at(-2_000), null), { time: '0:00:00', aside: '5:00:00 left' });
    assert.deepEqual(clockWords(at(18_060_000, { phase: 'frozen' }), null), { time: '5:00:00', aside: '0:00:00 left' });
  });

  test('a replay of an old contest shows the time of its newest result, not the years since its start', () => {
    const replay = at(3 * 365 * 86_400_000);
    assert.deepEqual(clockWords(replay, null, 8_040_000), { time: '2:14 h', aside: 'newest accepted' });
    assert.deepEqual(clockWords(replay, null, null), { time: '', aside: '' });
    assert.equal(progressOf(replay, 8_040_000), 8_040_000);
    assert.equal(progressOf(replay, null), null);
    assert.deepEqual(clockWords(at(-86_400_000), null, null), { time: '', aside: '' }, 'nor a contest that ran before its start');
    assert.deepEqual(clockWords(at(86_400_000, { phase: 'before' }), null), { time: '', aside: '' });
    assert.equal(phaseWords(at(86_400_000, { phase: 'before' }), false), 'Not scheduled yet');
  });

  test('a contest without an end has no time left', () => {
    const endless = at(3_723_400, { duration_ms: null, freeze_ms: null });
    assert.deepEqual(clockWords(endless, null), { time: '1:02:03', aside: 'since the start' });
    assert.deepEqual(clockWords({ ...endless, phase: 'ended' }, null), { time: '', aside: '' });
  });

  test('a paused countdown stands still', () => {
    const paused = at(-60_000, { phase: 'paused', start_time: null, countdown_pause_ms: 900_000 });
    assert.deepEqual(clockWords(paused, 900_000), { time: '0:15:00', aside: 'until the start, paused' });
    assert.equal(phaseWords(paused, true), 'Countdown paused');
  });

  test('how far it has come', () => {
    assert.equal(progressOf(at(-1, { phase: 'before' }), null), null);
    assert.equal(progressOf(at(9_000_000), 5), 9_000_000);
    assert.equal(progressOf(at(99_000_000, { phase: 'ended' }), 5), 18_000_000);
  });

  test('the newest result, in the unit of the board', () => {
    const columns = unit => [{ name: 'solved' }, { name: 'penalty', unit }, { name: 'last_accepted', unit }];
    const rows = [{ values: [2, 100, 61] }, { values: [3, 300, 134] }, { values: [0, 0, 0] }];
    assert.equal(newestAccepted({ rows, columns: columns('min') }), 8_040_000);
    assert.equal(newestAccepted({ rows, columns: columns('s') }), 134_000);
    assert.equal(newestAccepted({ rows: [], columns: columns('min') }), null);
    assert.equal(newestAccepted({ rows: [{ values: [5] }], columns: [{ name: 'score' }] }), null);
  });

  test('the freeze is said plainly until it is lifted, and not to the jury', () => {
    const frozen = at(15_000_000, { phase: 'frozen' });
    const ended = at(19_000_000, { phase: 'ended' });
    assert.match(freezeNotice(frozen, 'public'), /frozen since 4:00:00/);
    assert.match(freezeNotice(ended, 'public'), /still frozen/);
    assert.equal(freezeNotice(ended, 'jury'), null);
    assert.equal(freezeNotice(at(15_000_000), 'public'), null, 'the server has not said so yet');
    assert.equal(freezeNotice(at(19_000_000, { phase: 'thawed' }), 'public'), null);
    assert.equal(freezeNotice({ ...frozen, freeze: null }, 'public'), null);
  });
});

describe('the schedule', () => {
  const contest = { start_time: '2026-01-01T10:00:00Z', duration: '5:00:00.000' };
  const at = hours => Date.parse(contest.start_time) + hours * 3_600_000;

  test('relative times', () => {
    assert.equal(relativeTime('5:00:00.000'), 18_000_000);
    assert.equal(relativeTime('-0:00:01'), -1_000);
    assert.equal(relativeTime(null), 0);
    assert.equal(lengthWords('4:30:00'), '4 h 30 min');
    assert.equal(lengthWords('0:45:00'), '45 min');
  });

  test('by the state where it is known, by the plan where not', () => {
    assert.deepEqual([-1, 1, 6].map(hours => groupOf(contest, null, at(hours))), ['coming', 'running', 'over']);
    assert.equal(groupOf({ ...contest, duration: null }, null, at(600)), 'running', 'without an end');
    assert.equal(groupOf({ start_time: null }, null, 0), 'coming');
    const started = '2026-01-01T10:00:03Z';
    assert.equal(groupOf(contest, { started, ended: null }, at(99_999)), 'running', 'a replay');
    assert.equal(groupOf(contest, { started, ended: started }, at(1)), 'over');
    assert.equal(groupOf(contest, { started: null, ended: null }, at(1)), 'coming');
  });
});
