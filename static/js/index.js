/**
 * The list of contests.
 * @module index
 */

const GROUPS = [['running', 'Running now'], ['coming', 'Coming'], ['over', 'Over']];
/** The list is looked at again when the page is, at most this often, in ms. */
const FRESH_MS = 10_000;

const when = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const note = document.getElementById('note');
const list = document.getElementById('contests');
let loadedAt = 0;

/** A relative time of CLICS ("5:00:00.000") in ms. */
export function relativeTime(text) {
  const [, sign, hours, minutes, seconds] = /^(-?)(\d+):(\d\d):(\d\d(?:\.\d+)?)$/.exec(text ?? '') ?? [];
  if (hours === undefined) return 0;
  return (sign ? -1 : 1) * Math.round(1000 * (3600 * hours + 60 * minutes + Number(seconds)));
}

function groupOf({ start_time, duration }, now) {
  if (!start_time) return 'coming';
  const elapsed = now - Date.parse(start_time);
  return elapsed < 0 ? 'coming' : elapsed < relativeTime(duration) ? 'running' : 'over';
}

function lengthWords(duration) {
  const minutes = Math.round(relativeTime(duration) / 60_000);
  const parts = [[Math.floor(minutes / 60), 'h'], [minutes % 60, 'min']].filter(([count]) => count);
  return parts.map(([count, unit]) => `${count} ${unit}`).join(' ');
}

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

function show(contests) {
  const now = Date.now();
  const start = contest => Date.parse(contest.start_time ?? '') || Infinity;
  list.replaceChildren();
  for (const [group, title] of GROUPS) {
    const members = contests.filter(contest => groupOf(contest, now) === group);
    if (!members.length) continue;
    // What comes next is the nearest; what is over, the latest.
    members.sort((a, b) => (group === 'over' ? start(b) - start(a) : start(a) - start(b)) || 0);
    const section = list.appendChild(document.createElement('section'));
    section.className = group;
    section.appendChild(document.createElement('h2')).textContent = title;
    section.appendChild(document.createElement('ul')).append(...members.map(item));
  }
  note.textContent = contests.length ? '' : 'There are no contests here yet.';
  note.hidden = contests.length > 0;
}

async function load() {
  if (Date.now() - loadedAt < FRESH_MS) return;
  loadedAt = Date.now();
  try {
    const answer = await fetch('/api/contests');
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    show(await answer.json());
  } catch (error) {
    loadedAt = 0;
    note.hidden = false;
    note.textContent = `The list could not be loaded: ${error.message}`;
  }
}

document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && load());
load();
