/**
 * Pictures of every state, for people to look at: phone and projector, light and dark, in target/screens/.
 */
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { connectionOf, launch, open, until, untilLive } from './browser.js';
import { contestSince, event, problems, randomJudgements, teamId, teams } from './contest.js';
import { generator } from './random.js';
import { RankcastServer, skip } from './server.js';

const DIRECTORY = fileURLToPath(new URL('../../target/screens/', import.meta.url));
const SCREENS = {
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true },
  hall: { viewport: { width: 1920, height: 1080 } },
};

const NAMES = ['Quiet Otters', 'Тихі Лелеки', '静かなかもめ', '勇敢熊猫', '조용한 수달', 'الصقور السريعة', 'הכוכבים האמיצים', 'Ασημένιες Ελιές', 'Żółte Jeże',
  'The Unreasonably Long Name of a Team That Met at a Bus Stop in the Rain', 'Ctrl+Alt+Defeat', 'n log n'];
const PLACES = ['University of Aalborg', 'Львівська політехніка', '京都大学', 'Universidad de los Andes', 'ETH Zürich', 'American University of Beirut', 'Massachusetts Institute of Technology'];

async function furnish(server, id, contest, { to, count, extra = [] }) {
  await server.contest(id, contest);
  const cast = teams(80, number => `${NAMES[(number * 7) % NAMES.length]}${number > NAMES.length ? ` ${Math.ceil(number / NAMES.length)}` : ''}`);
  cast.forEach(({ data }, i) => Object.assign(data, { organization_id: `o${i % PLACES.length}`, group_ids: i % 11 === 10 ? ['unofficial'] : [] }));
  const places = PLACES.map((name, i) => event('organizations', `o${i}`, { name }));
  await server.events(id, [event('groups', 'unofficial', { name: 'Guests' }), ...places, ...problems(12), ...cast]);
  if (!count) return;
  const judgements = randomJudgements(generator(5), { count, teams: 80, problems: 12, from: 3, to });
  await server.judgements(id, judgements);
  // A few are still being judged.
  const unjudged = Array.from({ length: 6 }, (_, i) => event('submissions', `w${i}`, {
    team_id: teamId(2 * i + 1), problem_id: 'GHIJKL'[i], contest_time: judgements.at(-1).contest_time,
  }));
  await server.events(id, [...unjudged, ...extra]);
}

describe('pictures', { skip }, () => {
  let browser;
  let server;
  const pages = {};
  const away = {};
  const shoot = async (state, page, screen) => {
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: `${DIRECTORY}${state}-${screen}-${colorScheme}.png` });
    }
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${state} is too wide for a ${screen}`);
  };

  before(async () => {
    await mkdir(DIRECTORY, { recursive: true });
    [browser, server] = await Promise.all([launch(), RankcastServer.start()]);
    const named = kind => ({ formal_name: `The 2026 Northern Hills Collegiate Programming Contest, ${kind}` });
    await furnish(server, 'running', contestSince(2.6, named('East')), { to: 155, count: 420 });
    for (const [screen, options] of Object.entries(SCREENS)) {
      away[screen] = await open(browser, `${server.url}/contests/running`, options);
      await untilLive(away[screen].page);
      // It takes a while until a page calls it offline: meanwhile the other pictures are made.
      await away[screen].context.setOffline(true);
      pages[screen] = await open(browser, `${server.url}/contests/running`, options);
    }
    await furnish(server, 'before', contestSince(-0.21, named('Dress Rehearsal')), {});
    await furnish(server, 'frozen', contestSince(4.6, named('South')), { to: 274, count: 700 });
    await furnish(server, 'ended', contestSince(6, named('West')), { to: 299, count: 760 });
    await furnish(server, 'replay', contestSince(24 * 700, named('Two Years Ago')), { to: 134, count: 360, extra: [
      event('state', null, { started: '2024-01-01T10:00:00Z' }),
    ] });
  });
  after(async () => {
    await browser?.close();
    await server?.remove();
  });

  for (const state of ['before', 'running', 'frozen', 'ended', 'replay', 'index']) {
    test(state, async () => {
      for (const [screen, { page, faults }] of Object.entries(pages)) {
        await page.goto(`${server.url}${state === 'index' ? '/' : `/contests/${state}`}`);
        if (state === 'index') await until('the list', () => page.evaluate(() => document.querySelector('#contests li') !== null));
        else await untilLive(page);
        await shoot(state, page, screen);
        assert.deepEqual(faults, []);
      }
    });
  }

  test('offline', async () => {
    for (const [screen, { page }] of Object.entries(away)) {
      await until('offline', async () => await connectionOf(page) === 'offline');
      await shoot('offline', page, screen);
    }
  });
});
