import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Backoff, CAP_MS, FIRST_MS } from '../../static/js/backoff.js';
import { Client } from '../../static/js/client.js';
import { Surroundings, settle } from './surroundings.js';

const columns = [{ name: 'solved', order: 'desc', rank: true }];
const snapshot = (version, rows = [{ id: 'a', values: [1] }], more = {}) => ({
  type: 'snapshot', epoch: 'e1', version, columns, ids: 'asc', ties: 'competition', tied_beyond: 0, limit: null,
  total: rows.length, rows, problems: [], state: null, ...more,
});
const state = (more = {}) => ({ type: 'state', phase: 'running', now: new Date(1_000_000).toISOString(), store: 'live', feed: 'none', ...more });
const delta = (from, version, values, id = 'a') => ({ type: 'delta', from, version, rows: [{ id, values: [values] }], gone: [] });
const served = message => ({ status: 200, headers: { etag: `"${message.epoch}-${message.version}"` }, body: message });

async function started(answer = () => served(snapshot(10)), options = {}) {
  const env = new Surroundings();
  env.answer = answer;
  const client = new Client('/api/contests/x', { view: 'public', env, ...options });
  const names = [];
  client.addEventListener('status', ({ detail }) => names.push(detail.name));
  client.start();
  await settle();
  return { env, client, names };
}

async function live(...args) {
  const context = await started(...args);
  context.env.socket.say(state());
  return context;
}

describe('the way to a live board', () => {
  test('the snapshot first, then a socket from its position; live only once the server spoke', async () => {
    const { env, client } = await started();
    assert.equal(env.requests[0].url, '/api/contests/x/board?view=public&limit=all');
    assert.equal(env.socket.url, 'ws://rankcast.test/api/contests/x/live?view=public&limit=all&since=e1-10');
    assert.equal(client.status.name, 'connecting');
    env.socket.say(state());
    assert.equal(client.status.name, 'live');
    env.socket.say(delta(10, 11, 5));
    assert.equal(client.board.position, 'e1-11');
  });

  test('the clock follows the server', async () => {
    const { env, client } = await started();
    env.socket.say(state({ now: new Date(1_000_000 + 90_000).toISOString() }));
    assert.equal(client.serverNow(), env.time + 90_000);
    // Late on the way: the earlier, quicker message knew better.
    env.socket.say(state({ now: new Date(1_000_000 + 89_500).toISOString() }));
    assert.equal(client.serverNow(), env.time + 90_000);
    // The local clock was set.
    env.socket.say(state({ now: new Date(1_000_000).toISOString() }));
    assert.equal(client.serverNow(), env.time);
  });

  test('a stale store is said, and taken back', async () => {
    const { env, client } = await live();
    env.socket.say(state({ store: 'stale' }));
    assert.equal(client.status.name, 'stale');
    env.socket.say(state());
    assert.equal(client.status.name, 'live');
  });

  test('follow messages are handed on', async () => {
    const { env, client } = await live(undefined, { follow: ['t1', 't2'] });
    assert.match(env.socket.url, /follow=t1%2Ct2/);
    const seen = [];
    client.addEventListener('follow', ({ detail }) => seen.push(detail.rows[0].rank));
    env.socket.say({ type: 'follow', version: 10, rows: [{ id: 't1', values: [0], rank: 300 }] });
    assert.deepEqual(seen, [300]);
  });

  test('unknown messages are passed over; what is not JSON breaks the stream', async () => {
    const { env, client } = await live();
    env.socket.say({ type: 'fireworks' });
    assert.equal(client.status.name, 'live');
    env.socket.say('{"type":');
    assert.equal(client.status.name, 'reconnecting');
  });
});

describe('backoff', () => {
  test('full jitter under a ceiling that doubles up to the cap', () => {
    const backoff = new Backoff();
    const close = { code: 1006, retryAfter: 0 };
    const ceilings = Array.from({ length: 10 }, () => backoff.next(close, 0, () => 1));
    assert.deepEqual(ceilings, [300, 600, 1200, 2400, 4800, 9600, 19200, CAP_MS, CAP_MS, CAP_MS]);
    assert.equal(backoff.next(close, 0, () => 0), 0);
  });

  test('the server’s own time comes first, and the jitter on top', () => {
    const backoff = new Backoff();
    backoff.notBefore(5_000);
    assert.equal(backoff.next({ code: 1006, retryAfter: 0 }, 1_000, () => 1), 4_000 + FIRST_MS);
    assert.equal(new Backoff().next({ code: 503, retryAfter: 7_000 }, 0, () => 0), 7_000);
  });

  test('too many of us: spread wider than a first hiccup', () => {
    for (const code of [4408, 4429, 1012]) assert.equal(new Backoff().next({ code, retryAfter: 0 }, 0, () => 1), 1_000 + 2_400);
  });
});

describe('coming back', () => {
  test('after a broken connection, with the position reached', async () => {
    const { env, client } = await live();
    env.socket.say(delta(10, 12, 5));
    env.socket.end();
    assert.equal(client.status.name, 'reconnecting');
    assert.equal(client.status.retryAt, env.time + 150);
    await env.pass(149);
    assert.equal(env.sockets.length, 1);
    await env.pass(1);
    assert.equal(env.sockets.length, 2);
    assert.match(env.socket.url, /since=e1-12$/);
    env.socket.say(state());
    assert.equal(client.status.name, 'live');
    assert.equal(env.requests.length, 1, 'the board is not fetched again');
  });

  test('a good connection starts the backoff anew, a short one does not', async () => {
    const { env, client } = await live();
    env.socket.end();
    await env.pass(150);
    env.socket.say(state());
    env.socket.end();
    assert.equal(client.status.retryAt - env.time, 300);
    await env.pass(300);
    env.socket.say(state());
    await env.pass(6_000);
    env.socket.end();
    assert.equal(client.status.retryAt - env.time, 150);
  });

  test('bye names the time; the close after it does not shorten it', async () => {
    const { env, client } = await live();
    env.chance = 0;
    env.socket.say({ type: 'bye', retry_ms: 2_300 });
    env.socket.end(1012);
    assert.equal(client.status.retryAt, env.time + 2_300);
    await env.pass(2_299);
    client.wake();
    await env.pass(0);
    assert.equal(env.sockets.length, 1, 'nor does waking up');
    await env.pass(1);
    assert.equal(env.sockets.length, 2);
  });

  test('a bye without a close is closed by us', async () => {
    const { env, client } = await live();
    env.socket.say({ type: 'bye', retry_ms: 500 });
    await env.pass(2_000);
    assert.equal(env.sockets[0].closed, true);
    assert.equal(client.status.name, 'reconnecting');
  });

  for (const [code, reason] of [[4400, 'bad-request'], [4401, 'key-needed'], [4404, 'not-found'], [4410, 'deleted']]) {
    test(`${code} stops: ${reason}; the board stays`, async () => {
      const { env, client } = await live();
      env.socket.end(code);
      await env.pass(600_000);
      assert.equal(client.status.name, 'stopped');
      assert.equal(client.status.reason, reason);
      assert.equal(env.sockets.length, 1);
      assert.equal(client.board.rows.length, 1);
    });
  }

  for (const code of [4408, 4429, 1012, 1006, 1011]) {
    test(`${code} comes back with the position`, async () => {
      const { env } = await live();
      env.socket.end(code);
      await env.pass(5_000);
      assert.equal(env.sockets.length, 2);
      assert.match(env.socket.url, /since=e1-10$/);
    });
  }

  test('a board that is not there stops at the first request', async () => {
    const { client, env } = await started(() => ({ status: 404 }));
    await env.pass(60_000);
    assert.equal(client.status.reason, 'not-found');
    assert.equal(env.requests.length, 1);
  });

  test('a server that is not up yet is waited for, and offline is said when it lasts', async () => {
    const { env, client, names } = await started(() => null);
    await env.pass(20_000);
    assert.deepEqual([...new Set(names)], ['connecting', 'reconnecting', 'offline']);
    assert.equal(client.status.name, 'offline');
    assert.equal(client.status.since, 1_000_000);
    env.answer = () => served(snapshot(3));
    while (!env.socket) await env.pass(1_000);
    env.socket.say(state());
    assert.equal(client.status.name, 'live');
    assert.equal(client.status.since, null);
  });

  test('a socket that never says anything is given up', async () => {
    const { env } = await started();
    await env.pass(10_200);
    assert.equal(env.sockets[0].closed, true);
    assert.equal(env.sockets.length, 2);
  });
});

describe('resume', () => {
  test('a gap comes back with the position, the second in a row takes the whole board', async () => {
    const { env, client } = await live();
    env.socket.say(delta(12, 13, 7));
    assert.equal(client.status.name, 'reconnecting');
    await env.pass(600);
    assert.match(env.socket.url, /since=e1-10$/);
    env.socket.say(state());
    env.answer = () => served(snapshot(20, [{ id: 'b', values: [4] }]));
    env.socket.say(delta(10, 14, 7, 'unknown'));
    await env.pass(1_200);
    assert.equal(client.board.position, 'e1-20');
    assert.match(env.socket.url, /since=e1-20$/);
  });

  test('messages of the connection given up are not heard any more', async () => {
    const { env, client } = await live();
    const [old] = env.sockets;
    old.say(delta(12, 13, 7));
    old.say(delta(10, 11, 7));
    assert.equal(client.board.version, 10);
  });

  test('a server that is behind us has the word: its deltas go on from its board, not from ours', async () => {
    const { env, client } = await live();
    env.socket.say(snapshot(7, [{ id: 'a', values: [3] }]));
    assert.equal(client.board.position, 'e1-7');
    env.socket.say(delta(7, 8, 4));
    assert.deepEqual(client.board.rows[0].values, [4]);
    env.answer = () => served(snapshot(5, [{ id: 'a', values: [2] }]));
    env.socket.say({ type: 'reload', epoch: 'e1', version: 5, retry_ms: 0 });
    await env.pass(0);
    assert.equal(client.board.position, 'e1-5');
    assert.equal(client.status.name, 'live');
    env.socket.say(delta(5, 6, 9));
    assert.deepEqual(client.board.rows[0].values, [9]);
  });

  test('a snapshot of a new epoch over the socket replaces the board', async () => {
    const { env, client } = await live();
    const { board } = client;
    env.socket.say(snapshot(2, [{ id: 'z', values: [1] }], { epoch: 'e2' }));
    assert.equal(client.board.position, 'e2-2');
    assert.equal(client.board, board);
    env.socket.say(delta(2, 3, 9, 'z'));
    assert.deepEqual(client.board.rows[0].values, [9]);
  });
});

describe('reload', () => {
  test('waits as asked, keeps what comes meanwhile and applies it on top', async () => {
    const { env, client } = await live();
    env.answer = ({ url }) => {
      assert.match(url, /[?&]min=e1-1300$/);
      return served(snapshot(1301, [{ id: 'a', values: [3] }, { id: 'b', values: [2] }]));
    };
    env.socket.say({ type: 'reload', epoch: 'e1', version: 1300, retry_ms: 420 });
    assert.equal(client.status.name, 'behind');
    env.socket.say(delta(1300, 1301, 3));
    env.socket.say(delta(1301, 1302, 8, 'b'));
    assert.equal(client.board.version, 10);
    await env.pass(419);
    assert.equal(env.requests.length, 1);
    await env.pass(1);
    assert.equal(client.board.version, 1302);
    assert.deepEqual(client.board.rows.map(row => row.id), ['b', 'a']);
    assert.equal(client.status.name, 'live');
    assert.equal(env.sockets.length, 1);
  });

  test('state is told at once, also while behind', async () => {
    const { env, client } = await live();
    env.socket.say({ type: 'reload', epoch: 'e1', version: 1300, retry_ms: 420 });
    env.socket.say(state({ phase: 'frozen' }));
    assert.equal(client.board.state.phase, 'frozen');
  });

  test('into a new epoch: frames of the old one are not kept', async () => {
    const { env, client } = await live();
    env.answer = () => served(snapshot(5, [{ id: 'n', values: [1] }], { epoch: 'e2' }));
    env.socket.say({ type: 'reload', epoch: 'e1', version: 1300, retry_ms: 400 });
    env.socket.say(delta(1, 1302, 8));
    env.socket.say({ type: 'reload', epoch: 'e2', version: 5, retry_ms: 400 });
    env.socket.say(delta(5, 6, 2, 'n'));
    await env.pass(400);
    assert.equal(client.board.position, 'e2-6');
    assert.deepEqual(client.board.rows.map(row => [row.id, ...row.values]), [['n', 2]]);
  });

  test('a board that is not there yet is asked for again, with jitter', async () => {
    const { env, client } = await live();
    const answers = [{ status: 503, headers: { 'retry-after': '1' } }, null, served(snapshot(1299)), served(snapshot(1300))];
    env.answer = () => answers.shift() ?? null;
    env.socket.say({ type: 'reload', epoch: 'e1', version: 1300, retry_ms: 0 });
    await env.pass(0);
    assert.equal(client.status.name, 'behind');
    await env.pass(1_149);
    assert.equal(answers.length, 3);
    await env.pass(1 + 300 + 600);
    assert.equal(client.board.version, 1300);
    assert.equal(client.status.name, 'live');
  });

  test('a server that never gets that far does not hold us for ever: what it has is shown, the socket brings the rest', async () => {
    const { env, client } = await live();
    env.answer = () => served(snapshot(1290));
    env.socket.say({ type: 'reload', epoch: 'e1', version: 1300, retry_ms: 0 });
    await env.pass(150 + 300 + 600);
    assert.equal(env.requests.filter(({ url }) => url.includes('min=')).length, 4);
    assert.equal(client.board.version, 1290);
    await env.pass(1_000);
    assert.match(env.socket.url, /since=e1-1290$/);
    env.socket.say(state());
    env.socket.say(delta(1290, 1300, 7));
    assert.equal(client.board.version, 1300);
    assert.equal(client.status.name, 'live');
  });

  test('two servers that disagree about the epoch are asked ever more seldom', async () => {
    const { env } = await live();
    env.chance = 1;
    env.answer = () => served(snapshot(5, undefined, { epoch: 'e2' }));
    let sockets = 0;
    for (let i = 0; i < 600; i++) {
      if (env.sockets.length > sockets) {
        sockets = env.sockets.length;
        env.socket.say(state());
        env.socket.say({ type: 'reload', epoch: 'e1', version: 1300, retry_ms: 0 });
      }
      await env.pass(100);
    }
    assert.ok(sockets < 10, `${sockets} connections in a minute`);
  });

  test('a gap in what was kept comes back with the position', async () => {
    const { env, client } = await live();
    env.answer = () => served(snapshot(1300));
    env.socket.say({ type: 'reload', epoch: 'e1', version: 1300, retry_ms: 0 });
    env.socket.say(delta(1305, 1306, 3));
    await env.pass(0);
    assert.equal(client.board.version, 1300);
    assert.equal(client.status.name, 'reconnecting');
    await env.pass(600);
    assert.match(env.socket.url, /since=e1-1300$/);
  });

  test('what is kept has a bound', async () => {
    const { env, client } = await live();
    env.socket.say({ type: 'reload', epoch: 'e1', version: 1300, retry_ms: 60_000 });
    for (let i = 0; i <= 1_000; i++) env.socket.say(delta(1300 + i, 1301 + i, i));
    assert.equal(client.status.name, 'reconnecting');
  });
});

describe('a quiet connection', () => {
  test('is left alone while HTTP confirms our position, and made anew when it does not', async () => {
    const { env, client } = await live();
    await env.pass(75_000);
    assert.deepEqual(env.requests.at(-1).method, 'HEAD');
    assert.equal(env.sockets.length, 1);
    env.answer = () => served(snapshot(100));
    await env.pass(75_200);
    assert.equal(env.sockets.length, 2, 'a deaf socket is not live');
    assert.match(env.socket.url, /since=e1-10$/, 'e1-100 is not e1-10');
    assert.equal(client.status.name, 'reconnecting');
  });

  test('is made anew on waking after more than a minute, not before', async () => {
    const { env, client } = await live();
    await env.pass(59_000);
    client.wake();
    assert.equal(client.status.name, 'live');
    await env.pass(1_001);
    client.wake();
    await env.pass(300);
    assert.equal(env.sockets.length, 2);
  });

  test('the browser saying offline is not believed while the server answers', async () => {
    const { env, client } = await live();
    await client.verify();
    assert.equal(client.status.name, 'live');
    env.answer = () => null;
    await client.verify();
    assert.equal(client.status.name, 'reconnecting');
  });

  test('waking brings a waiting attempt forward', async () => {
    const { env, client } = await live();
    env.answer = () => null;
    env.chance = 1;
    env.socket.end();
    await env.pass(300);
    env.socket.end();
    await env.pass(10_000);
    assert.ok(client.status.retryAt - env.time > 1_000);
    env.answer = () => served(snapshot(10));
    env.chance = 0.1;
    client.wake();
    await env.pass(100);
    assert.ok(env.sockets.length + env.sources.length === 3);
  });
});

describe('where WebSocket does not get through', () => {
  async function blocked() {
    const context = await started();
    const { env } = context;
    for (let i = 0; i < 2; i++) {
      env.socket.end();
      await env.pass(1_000);
    }
    return context;
  }

  test('two failures before any message, while HTTP works: server-sent events at the same address', async () => {
    const { env, client } = await blocked();
    assert.equal(env.sockets.length, 2);
    assert.equal(env.source.url, 'http://rankcast.test/api/contests/x/live?view=public&limit=all&since=e1-10');
    env.source.say(state());
    env.source.say(delta(10, 11, 4));
    assert.equal(client.status.name, 'live');
    assert.equal(client.status.transport, 'sse');
    assert.equal(client.board.version, 11);
    env.source.fail();
    await env.pass(5_000);
    assert.equal(env.sockets.length, 3, 'WebSocket gets another chance');
  });

  test('a server that is down altogether is no reason to step down', async () => {
    const { env } = await started();
    env.answer = () => null;
    for (let i = 0; i < 4; i++) {
      env.socket.end();
      await env.pass(60_000);
    }
    assert.equal(env.sources.length, 0);
  });

  test('a handshake refused with 404 stops', async () => {
    const { env, client } = await started();
    env.answer = () => ({ status: 404 });
    env.socket.end();
    await env.pass(1_000);
    assert.equal(client.status.reason, 'not-found');
  });

  test('and then polling with the ETag, whose answers are shown', async () => {
    const { env, client } = await blocked();
    for (let i = 0; i < 2; i++) {
      env.source.fail();
      await env.pass(5_000);
    }
    let version = 10;
    env.answer = ({ headers }) => (headers['If-None-Match'] === `"e1-${version}"` ? { status: 304 } : served(snapshot(version, [{ id: 'a', values: [version] }])));
    await env.pass(5_000);
    assert.equal(client.status.transport, 'poll');
    assert.equal(client.status.name, 'live');
    assert.deepEqual(env.requests.at(-1).headers, { 'If-None-Match': '"e1-10"' });
    version = 44;
    await env.pass(5_000);
    assert.deepEqual(client.board.rows[0].values, [44]);
    env.answer = () => null;
    await env.pass(5_000);
    assert.equal(client.status.name, 'reconnecting');
  });
});

test('stop lets go of everything', async () => {
  const { env, client } = await live();
  client.stop();
  const { length } = env.requests;
  await env.pass(600_000);
  assert.equal(env.socket.closed, true);
  assert.equal(client.status.name, 'stopped');
  assert.equal(env.requests.length, length);
  assert.equal(env.sockets.length, 1);
});
