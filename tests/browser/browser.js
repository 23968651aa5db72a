/**
 * A browser for the tests, and what can be seen on a page.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium } from 'playwright-core';

/** Two busy cores and a browser: a wait that takes longer has failed. In ms. */
const PATIENCE_MS = 20_000;
const POLL_MS = 40;

export const launch = () => chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
});

/**
 * Opens an address in a context of its own. `faults` lists what a harmless page never does: console errors, exceptions,
 * dialogs, and requests to another origin.
 */
export async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const faults = [];
  page.on('console', message => message.type() === 'error' && faults.push(`console: ${message.text()}`));
  page.on('pageerror', error => faults.push(`exception: ${error.message}`));
  page.on('dialog', dialog => {
    faults.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  const { origin } = new URL(url);
  const check = (address, own) => own.includes(new URL(address).origin) || faults.push(`request: ${address}`);
  page.on('request', request => check(request.url(), [origin, 'null']));
  page.on('websocket', socket => check(socket.url(), [origin.replace('http', 'ws')]));
  await page.goto(url);
  return { page, context, faults };
}

/**
 * Waits until a look at the world answers something true, which is the answer. Asked again from here: a predicate that lives
 * in the page would need eval, which our pages forbid.
 */
export async function until(what, look, patience = PATIENCE_MS) {
  const deadline = Date.now() + patience;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    assert.ok(Date.now() < deadline, `in vain: ${what}`);
    await sleep(POLL_MS);
  }
}

/** Waits until a look equals what is expected, and shows the difference if it never does. */
export async function untilEqual(what, look, expected, patience = PATIENCE_MS) {
  const deadline = Date.now() + patience;
  for (;;) {
    try {
      assert.deepEqual(await look(), expected);
      return;
    } catch (difference) {
      if (Date.now() < deadline) await sleep(POLL_MS);
      else {
        difference.message = `${what}: ${difference.message}`;
        throw difference;
      }
    }
  }
}

/** The rows as people see them, from the top. */
export const rowsOf = page => page.evaluate(() => {
  const text = el => el.textContent;
  return [...document.querySelectorAll('#rows .row')]
    .sort((a, b) => a.getAttribute('aria-rowindex') - b.getAttribute('aria-rowindex'))
    .map(row => ({
      id: row.dataset.id,
      rank: text(row.querySelector('.rank')),
      name: text(row.querySelector('.name')),
      values: [...row.querySelectorAll('.value')].map(text),
      cells: Object.fromEntries([...row.querySelectorAll('.cell')].filter(cell => cell.dataset.state !== 'none').map(cell => [
        cell.dataset.problem,
        [cell.dataset.state, text(cell.querySelector('.mark')), text(cell.querySelector('small')), ...(cell.classList.contains('first') ? ['first'] : [])],
      ])),
    }));
});

/** Solved and tries of each problem, from the head of the table. */
export const statisticsOf = page => page.evaluate(() => Object.fromEntries([...document.querySelectorAll('#columns .problem')]
  .map(head => [head.dataset.problem, head.querySelector('small').textContent])));

export const connectionOf = page => page.evaluate(() => document.getElementById('connection').dataset.name);
export const untilLive = page => until('a live page with its head', () => page.evaluate(() =>
  document.getElementById('connection').dataset.name === 'live' && document.querySelector('#columns .team') !== null));
