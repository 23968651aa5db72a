/**
 * The page of one contest or board. Puts the parts together; each part is a module of its own.
 *
 * For tests and the curious: `window.rankcast.board` is the board shown, `window.rankcast.client` the connection.
 * @module page
 */
import { Announcer } from './announce.js';
import { displayOrder, NameOrder } from './board.js';
import { Client } from './client.js';
import { isWaiting } from './clock.js';
import { Columns } from './columns.js';
import { Find } from './find.js';
import { Header, REASONS } from './header.js';
import { Rows } from './rows.js';

/** On a phone so many problems stand on a line. */
const STRIP = 15;

const byId = id => document.getElementById(id);
const [, kind, id] = location.pathname.match(/\/(contests|boards)\/([^/]+)\/?$/) ?? [null, 'contests', ''];
const query = new URLSearchParams(location.search);
const view = kind === 'contests' ? query.get('view') ?? 'public' : undefined;
const resource = `/api/${kind}/${id}`;

const limit = query.get('limit') ?? 'all';
const client = new Client(resource, { view, limit, ticket: query.get('ticket') ?? undefined });
const header = new Header(client, view, decodeURIComponent(id));
const columns = new Columns(byId('columns'));
const rows = new Rows(byId('standings'), byId('rows'), byId('columns'));
const announcer = new Announcer(byId('announcer'));

const names = new NameOrder();

let places = [];
/** What was drawn last, to leave alone what is the same. */
let drawnRows = null;
let layout = null;
let drawnStatistics = null;
let scheduled = false;

new Find(byId('find'), byId('found'), () => places, found => rows.mark(found));

/** What is shown of the board's columns; made anew only when they or the problems changed, as every row is drawn by it. */
function layoutOf(board) {
  if (layout && layout.columns === board.columns && layout.key === problemKey(board)) {
    layout.statistics = board.problems;
    return layout;
  }
  const shown = board.columns.map((column, index) => ({ column, index }));
  const values = shown.filter(({ column }) => column.rank && !column.section);
  return {
    columns: board.columns,
    key: problemKey(board),
    values: values.length ? values : shown.filter(({ column }) => !column.section).slice(0, 1),
    sections: shown.filter(({ column }) => column.section).map(({ index }) => index),
    problems: board.problems,
    statistics: board.problems,
    units: {
      time: board.columns.find(column => column.unit) ?? {},
      score: values[0]?.column ?? {},
    },
  };
}

const problemKey = board => JSON.stringify(board.problems.map(({ id, label, max_score }) => [id, label, max_score]));

function draw() {
  scheduled = false;
  const { board } = client;
  const before = layout;
  layout = layoutOf(board);
  // First: what is hidden has no height to measure.
  showVacancy(board);
  byId('table').classList.toggle('waiting', isWaiting(board.state?.phase));
  if (layout !== before) arrange();
  if (layout !== before || drawnStatistics !== layout.statistics) {
    drawnStatistics = layout.statistics;
    const who = kind === 'contests' ? 'Team' : 'Name';
    columns.update({ ...layout, problems: layout.statistics, who }, team => board.row(team)?.name ?? team);
  }
  if (layout !== before || drawnRows !== board.rows) {
    drawnRows = board.rows;
    // The server rounds the limit up, so that many viewers share a stream.
    places = displayOrder(board, names).slice(0, Number(limit) || undefined);
    byId('table').setAttribute('aria-rowcount', board.total + 1);
    rows.update(places, layout, layout === before);
    announcer.update(board, layout);
  }
  header.tick();
}

/** Tells the style sheet how much there is to place. */
function arrange() {
  const table = byId('table');
  const problems = layout.problems.length;
  const lines = Math.ceil(problems / STRIP);
  const counts = { problems, lines, strip: Math.ceil(problems / Math.max(1, lines)), values: layout.values.length };
  for (const [name, count] of Object.entries(counts)) table.style.setProperty(`--${name}`, count);
  table.classList.toggle('bare', !problems);
  table.classList.toggle('wide', layout.values.some(({ column }) => column.scale || column.unit === 's'));
  rows.measure();
}

function showVacancy(board) {
  const vacant = !board.rows.length;
  byId('standings').classList.toggle('vacant', vacant);
  byId('empty').hidden = !vacant;
  byId('empty').textContent = vacant ? 'Nobody is on this board yet.' : '';
}

/** However many messages come, the page is drawn once a frame. */
function schedule() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(draw);
}

client.addEventListener('board', schedule);
client.addEventListener('status', ({ detail }) => {
  if (detail.name !== 'stopped' || client.board) return;
  byId('standings').classList.add('vacant');
  byId('empty').hidden = false;
  byId('empty').textContent = `Nothing to show: ${REASONS[detail.reason]}.`;
});
client.listen(window);

client.start();

window.rankcast = {
  client,
  get board() {
    return client.board;
  },
};
