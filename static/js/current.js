/**
 * The page of the current contest: shows the page of the one that is chosen, and changes over when another one is. The old one
 * stays until the new one is there.
 * @module current
 */

/** How often it is asked which contest is the current one, in ms; a little more or less, so that pages do not ask together. */
const EVERY = 5000;

const empty = document.getElementById('empty');
let shown;
let frame = null;

async function look() {
  try {
    const answer = await fetch('/api/current', { cache: 'no-store' });
    if (answer.ok) show((await answer.json()).contest);
  } catch {
    // The server is away: what is shown stays, and knows by itself.
  }
  setTimeout(look, EVERY * (0.8 + 0.4 * Math.random()));
}

function show(contest) {
  if (contest === shown) return;
  shown = contest;
  empty.hidden = contest !== null;
  const old = frame;
  if (contest === null) {
    old?.remove();
    frame = null;
    return;
  }
  const next = document.createElement('iframe');
  next.title = 'Standings';
  next.addEventListener('load', () => old?.remove());
  next.src = `/contests/${encodeURIComponent(contest)}${location.search}`;
  frame = next;
  document.body.append(next);
}

look();
