/**
 * The list of contests.
 * @module index
 */
import { groupOf, lengthWords } from './schedule.js';

const GROUPS = [['running', 'Running now'], ['coming', 'Coming'], ['over', 'Over']];
/** The list is looked at again when the page is, at most this often, in ms. */
const FRESH_MS = 10_000;
/** Contests that are asked for their state; for more of them, the older ones, the plan is good enough. */
const STATES_MAX = 50;

const when = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const note = document.getElementById('note');
const list = document.getElementById('contests');
let loadedAt = 0;

function item(contest) {
  const made = document.createElement('li');
  const link = made.appendChild(document.createElement('a'));
  link.href = `/contests/${encodeURIComponent(contest.id)}`;
  const name = link.appendChild(document.createElement('b'));
  name.dir = 'auto';
  name.textContent = contest.formal_name || contest.name || contest.id;
  const time = link.appendChild(document.createElement('span'));
  time.className = 'when';
  time.textContent = contest.start_time ? when.format(Date.parse(contest.start_time)) : 'not scheduled yet';
  const how = link.appendChild(document.createElement('span'));
  how.className = 'how';
  const freeze = lengthWords(contest.scoreboard_freeze_duration);
  how.textContent = [lengthWords(contest.duration), freeze && `scoreboard frozen for the last ${freeze}`].filter(Boolean).join(', ');
  return made;
}

const startOf = contest => Date.parse(contest.start_time ?? '') || Infinity;

/** @param {{contest: object, state: object|null}[]} entries */
function show(entries) {
  const now = Date.now();
  list.replaceChildren();
  for (const [group, title] of GROUPS) {
    const members = entries.filter(({ contest, state }) => groupOf(contest, state, now) === group).map(({ contest }) => contest);
    if (!members.length) continue;
    // What comes next is the nearest; else the latest is. Two without a start are equal: Infinity − Infinity is NaN.
    members.sort((a, b) => (group === 'coming' ? startOf(a) - startOf(b) : startOf(b) - startOf(a)) || 0);
    const section = list.appendChild(document.createElement('section'));
    section.className = group;
    section.appendChild(document.createElement('h2')).textContent = title;
    section.appendChild(document.createElement('ul')).append(...members.map(item));
  }
  note.textContent = entries.length ? '' : 'There are no contests here yet.';
  note.hidden = entries.length > 0;
}

async function json(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  return answer.json();
}

/** The contests, each with its state where that could be had. */
async function contests() {
  const all = await json('/api/contests');
  all.sort((a, b) => startOf(b) - startOf(a) || 0);
  return Promise.all(all.map(async (contest, index) => {
    const url = `/api/contests/${encodeURIComponent(contest.id)}/state`;
    return { contest, state: index < STATES_MAX ? await json(url).catch(() => null) : null };
  }));
}

async function load() {
  if (Date.now() - loadedAt < FRESH_MS) return;
  loadedAt = Date.now();
  try {
    show(await contests());
  } catch (error) {
    loadedAt = 0;
    note.hidden = false;
    note.textContent = `The list could not be loaded: ${error.message}`;
  }
}

document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && load());
load();
