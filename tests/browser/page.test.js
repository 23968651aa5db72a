/**
 * The page against the real server, in a real browser.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { launch, open, rowsOf, statisticsOf, until, untilEqual, untilLive } from './browser.js';
import { contestSince, event, judgement, problems, randomJudgements, teamId, teams } from './contest.js';
import { generator, seed } from './random.js';
import { RankcastServer, skip } from './server.js';

describe('the page of a contest', { skip }, () => {
  let browser;
  before(async () => { browser = await launch(); });
  after(() => browser?.close());

  /** A server for one test, and pages on it that have to be harmless. */
  async function setting(t, command) {
    const server = await RankcastServer.start(command);
    t.after(() => server.remove());
    const visit = async (path, options) => {
      const opened = await open(browser, server.url + path, options);
      t.after(() => opened.context.close());
      return opened;
    };
    return { server, visit };
  }

  test('rows move without a reload, and a restart of the server is caught up with', async t => {
    const { server, visit } = await setting(t);
    await server.contest('x', contestSince(1, { formal_name: 'Finals of the Tests' }));
    await server.events('x', [...problems(2), ...teams(3)]);
    const { page } = await visit('/contests/x');
    await untilLive(page);
    await page.evaluate(() => { window.marker = 'the same document'; });
    assert.equal(await page.title(), 'Finals of the Tests');
    assert.equal(await page.textContent('#title'), 'Finals of the Tests');
    assert.match(await page.textContent('#time'), /^1:00:\d\d$/);
    const order = async () => (await rowsOf(page)).map(({ id, rank }) => `${rank} ${id}`);
    await untilEqual('three teams without a point', order, ['1 t0001', '1 t0002', '1 t0003']);

    await server.judgements('x', [judgement('j1', 't0003', 'B', 'AC', 42)]);
    await untilEqual('the third team leads', order, ['1 t0003', '2 t0001', '2 t0002']);
    const [leader] = await rowsOf(page);
    assert.deepEqual([leader.values, leader.cells], [['1', '42'], { B: ['solved', '+', '42', 'first'] }]);

    await server.events('x', [event('problems', 'C', { label: 'C', name: 'A late one', ordinal: 2 })]);
    await until('the new problem has a column', async () => 'C' in await statisticsOf(page));

    await server.stop();
    await until('the page knows', () => page.evaluate(() => !['live', 'connecting'].includes(window.rankcast.client.status.name)));
    await server.run();
    await server.judgements('x', [judgement('j2', 't0002', 'A', 'AC', 30)]);
    await untilEqual('what was posted after the restart', order, ['1 t0002', '2 t0003', '3 t0001']);
    await untilLive(page);
    assert.equal(await page.evaluate(() => window.marker), 'the same document');
  });

  test('the demo moves within a second or so of opening', async t => {
    const { visit } = await setting(t, 'demo');
    const { page, faults } = await visit('/');
    await page.addInitScript(() => {
      // Rows are drawn in one go: what changes in a later one is news.
      let first = null;
      new MutationObserver(changes => {
        const news = first !== null && changes.some(({ type, target }) => type === 'childList'
          ? target.matches?.('.row .mark, .row .value, .row .rank') : target.matches?.('.row .cell'));
        if (news) window.movedAfter ??= performance.now() - first;
        else if (document.querySelector('#rows .row')) first ??= performance.now();
      }).observe(document, { subtree: true, childList: true, attributeFilter: ['data-state'] });
    });
    await page.click('a[href="/contests/demo"]');
    const ms = await until('a cell or a row changed', () => page.evaluate(() => window.movedAfter), 15_000);
    t.diagnostic(`the demo moved ${Math.round(ms)} ms after its rows appeared`);
    assert.ok(ms < 5_000, `${ms} ms`);
    assert.deepEqual(faults, []);
  });

  test(`shows what GET board says, after hundreds of random judgements (SEED=${seed})`, async t => {
    const { server, visit } = await setting(t);
    const dice = generator();
    await server.contest('x', contestSince(3));
    await server.events('x', [...problems(7), ...teams(40)]);
    const { page, faults } = await visit('/contests/x', { viewport: { width: 1400, height: 2400 } });
    await untilLive(page);
    const all = randomJudgements(dice, { count: 320, teams: 40, problems: 7, from: 0, to: 175 });
    const post = async judgements => {
      while (judgements.length) await server.judgements('x', judgements.splice(0, 1 + dice.below(20)));
    };
    const agrees = async () => {
      const board = await server.board('x');
      await untilEqual('the rows', () => rowsOf(page), expectedRows(board));
      const statistics = board.problems.map(({ id, solved, tries }) => [id, `${solved}/${tries}`]);
      await untilEqual('the statistics', () => statisticsOf(page), Object.fromEntries(statistics));
    };
    await post(all.splice(0, 160));
    await agrees();
    assert.deepEqual(faults, []);
    await server.stop();
    await server.run();
    await post(all);
    // Verdicts are taken back, too, and judged anew.
    await server.events('x', Array.from({ length: 30 }, () => dice.below(300)).map(i =>
      event('judgements', `j${i}`, { submission_id: `sj${i}`, judgement_type_id: dice.pick(['AC', 'WA', null]) })));
    await agrees();
  });

  test('hostile names are nothing but text, and stay in their place', async t => {
    const { server, visit } = await setting(t);
    const names = [
      '<img src=x onerror="window.hacked=1;alert(1)">',
      '"><script>window.hacked=2</script><svg onload=alert(2)>',
      '\u202e\u202dsdrawkcab gnihtyreve \u2066\u2067',
      `long ${'W'.repeat(4_995)}`,
      '\u200b\u200d\ufeff',
      `👩‍👩‍👧‍👦🏳️‍🌈 ${'🦀'.repeat(200)}`,
      `Z${'\u0335\u0341\u0321\u0489'.repeat(400)}algo`,
      'javascript:alert(3)',
      '{{constructor.constructor("alert(4)")()}}',
    ];
    const [image, , override] = names;
    await server.contest('x', contestSince(1, { name: `${image}${override}`, formal_name: null }));
    await server.events('x', [
      event('organizations', 'o1', { name: `${override}${image}${'x'.repeat(3_000)}` }),
      event('problems', 'A', { label: image, name: image, ordinal: 0, rgb: 'red;background:url(//elsewhere.test)' }),
      event('problems', 'constructor', { label: override, name: override, ordinal: 1, rgb: '#0f0' }),
      ...names.map((name, i) => event('teams', teamId(i + 1), { name, organization_id: 'o1' })),
      event('teams', '__proto__', { name: 'Named like a trap' }),
    ]);
    await server.judgements('x', [judgement('j1', '__proto__', 'constructor', 'AC', 5), judgement('j2', 't0001', 'A', 'WA', 5)]);

    for (const viewport of [{ width: 390, height: 844 }, { width: 1280, height: 900 }]) {
      const { page, faults } = await visit('/contests/x', { viewport });
      await untilLive(page);
      const rows = await until('all rows', async () => {
        const seen = await rowsOf(page);
        return seen.length === names.length + 1 && seen;
      });
      const shown = new Map(rows.map(row => [row.id, row]));
      names.forEach((name, i) => {
        const invisible = name.startsWith('\u200b');
        assert.equal(shown.get(teamId(i + 1)).name, invisible ? teamId(i + 1) : name, 'a name that cannot be seen gives way to the id');
      });
      assert.deepEqual(shown.get('__proto__').cells, { constructor: ['solved', '+', '5', 'first'] });
      const place = await page.evaluate(() => ({
        page: document.documentElement.scrollWidth - innerWidth,
        table: (scroller => scroller.scrollWidth - scroller.clientWidth)(document.getElementById('standings')),
        outside: [...document.querySelectorAll('#rows .row .name, #rows .row .organization, #columns .balloon, #title')].filter(el => {
          const { left, right, height } = el.getBoundingClientRect();
          return left < 0 || right > innerWidth || height > 60;
        }).length,
        isolated: [...document.querySelectorAll('#rows .name')].every(el => getComputedStyle(el).unicodeBidi.includes('isolate')),
        hacked: window.hacked ?? null,
        elements: document.querySelectorAll('#rows img, #rows script, #rows svg').length,
      }));
      assert.deepEqual(place, { page: 0, table: 0, outside: 0, isolated: true, hacked: null, elements: 0 }, `${viewport.width} px`);
      assert.deepEqual(faults, []);
    }
    const { page, faults } = await visit('/');
    await until('the list', () => page.evaluate(() => document.querySelector('#contests li') !== null));
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
    assert.deepEqual(faults, []);
  });

  test('what is sent in during the freeze is pending until the jury opens the board', async t => {
    const { server, visit } = await setting(t);
    await server.contest('x', contestSince(4.5));
    await server.events('x', [...problems(2), ...teams(2)]);
    await server.judgements('x', [judgement('j1', 't0001', 'A', 'AC', 60), judgement('j2', 't0002', 'B', 'WA', 90)]);
    const { page } = await visit('/contests/x');
    await untilLive(page);
    await server.judgements('x', [judgement('j3', 't0002', 'A', 'AC', 250), judgement('j4', 't0002', 'B', 'AC', 260)]);
    const frozen = { rank: '2', values: ['0', '0'], cells: { A: ['pending', '?', ''], B: ['pending', '?', '−1'] } };
    const second = async () => {
      const { rank, values, cells } = (await rowsOf(page)).find(({ id }) => id === 't0002') ?? {};
      return { rank, values, cells };
    };
    await untilEqual('pending, and no rank for it', second, frozen);
    assert.match(await page.textContent('#phase'), /frozen/);
    assert.match(await page.textContent('#notice'), /frozen since 4:00:00/);

    await server.events('x', [event('rankcast-thaw', null, { thawed: new Date().toISOString() })]);
    const opened = { rank: '1', values: ['2', '530'], cells: { A: ['solved', '+', '250'], B: ['solved', '+1', '260', 'first'] } };
    await untilEqual('opened', second, opened);
    await until('nothing is said of a freeze any more', async () => await page.textContent('#notice') === '');
  });

  test('where a proxy lets no WebSocket through, server-sent events bring the same', async t => {
    const { server, visit } = await setting(t);
    await server.contest('x', contestSince(1));
    await server.events('x', [...problems(1), ...teams(2)]);
    const { page } = await visit('/');
    await page.addInitScript(() => {
      window.WebSocket = class {
        constructor() { setTimeout(() => this.onclose({ code: 1006 })); }
        close() {}
      };
    });
    await page.goto(`${server.url}/contests/x`);
    await untilLive(page);
    assert.equal(await page.evaluate(() => window.rankcast.client.status.transport), 'sse');
    await server.judgements('x', [judgement('j1', 't0002', 'A', 'AC', 7)]);
    await until('the second team leads', async () => (await rowsOf(page))[0].id === 't0002');
    await until('the head of the table', async () => (await statisticsOf(page)).A === '1/1');
  });

  test('2,554 teams need few elements, and the last one can be reached', async t => {
    const { server, visit } = await setting(t);
    await server.contest('x', contestSince(2));
    await server.events('x', [...problems(12), ...teams(2554)]);
    await server.judgements('x', randomJudgements(generator(7), { count: 3_000, teams: 2554, problems: 12, from: 0, to: 110 }));
    const { page, faults } = await visit('/contests/x', { viewport: { width: 1920, height: 1080 } });
    await untilLive(page);
    const elements = () => page.evaluate(() => document.querySelectorAll('#rows .row').length);
    await until('rows', async () => await elements() > 10);
    const last = (await server.board('x')).rows.at(-1).id;
    let most = 0;
    await until('the last team in sight', async () => {
      await page.evaluate(() => document.getElementById('standings').scrollBy(0, 20_000));
      most = Math.max(most, await elements());
      return page.evaluate(id => {
        const row = document.querySelector(`#rows [data-id="${id}"]`);
        const { bottom } = row?.getBoundingClientRect() ?? {};
        return bottom > 0 && bottom <= innerHeight + 1;
      }, last);
    });
    assert.ok(most <= 60, `${most} elements`);

    // Too large for the socket: the page is told to fetch the board again.
    await server.events('x', [event('problems', 'M', { label: 'M', name: 'A late one', ordinal: 12 })]);
    await until('the new problem has a column', async () => 'M' in await statisticsOf(page));
    await server.judgements('x', [judgement('late', last, 'M', 'AC', 115)]);
    await until('the last team moves up', async () => (await rowsOf(page)).at(-1).id !== last);
    assert.ok(await elements() <= 60);
    assert.deepEqual(faults, []);
  });
});

/** The rows that a board stands for; in the tests names sort as ids do, so equal rows keep their order. */
function expectedRows({ rows }) {
  let rank = 0;
  let above = null;
  return rows.map(({ id, name, values: [solved, penalty], cells }, i) => {
    if (above !== `${solved} ${penalty}`) rank = i + 1;
    above = `${solved} ${penalty}`;
    const shown = Object.entries(cells).flatMap(([problem, cell]) => {
      const { tries, pending = 0, time, first } = cell;
      const failed = tries ? `−${tries}` : '';
      if (time !== undefined) return [[problem, ['solved', tries > 1 ? `+${tries - 1}` : '+', String(time), ...(first ? ['first'] : [])]]];
      if (pending) return [[problem, ['pending', pending > 1 ? `?${pending}` : '?', failed]]];
      return tries ? [[problem, ['wrong', failed, '']]] : [];
    });
    return { id, rank: String(rank), name, values: [String(solved), String(penalty)], cells: Object.fromEntries(shown) };
  });
}
