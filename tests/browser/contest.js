/**
 * Contests for the tests, as CLICS events.
 */

const HOUR_MS = 3_600_000;

export const event = (type, id, data) => ({ type, id, data: data && { id, ...data } });

/** A time of a contest, as CLICS writes it. */
export function relative(ms) {
  const two = part => String(Math.floor(part)).padStart(2, '0');
  return `${Math.floor(ms / HOUR_MS)}:${two((ms / 60_000) % 60)}:${two((ms / 1000) % 60)}.${String(Math.floor(ms % 1000)).padStart(3, '0')}`;
}

/** A contest of five hours that started so many hours ago. */
export function contestSince(hours, more = {}) {
  const start_time = new Date(Date.now() - hours * HOUR_MS).toISOString();
  return { name: 'Test contest', start_time, duration: '5:00:00', scoreboard_freeze_duration: '1:00:00', ...more };
}

const COLOURS = ['#e6194b', '#3cb44b', '#ffe119', '#4363d8', '#f58231', '#911eb4', '#42d4f4', '#f032e6', '#bfef45', '#fabed4', '#469990', '#000075', '#9a6324'];

/** Problems A, B, C, … */
export function problems(count) {
  return Array.from({ length: count }, (_, ordinal) => {
    const label = String.fromCharCode(65 + ordinal);
    return event('problems', label, { label, name: `Problem ${label}`, ordinal, rgb: COLOURS[ordinal % COLOURS.length] });
  });
}

/** The id of a team; they sort as the numbers do. */
export const teamId = number => `t${String(number).padStart(4, '0')}`;

/** Teams whose names sort as their ids do, or are given. */
export function teams(count, nameOf = number => `Team ${String(number).padStart(4, '0')}`) {
  return Array.from({ length: count }, (_, i) => event('teams', teamId(i + 1), { name: nameOf(i + 1) }));
}

/** A judgement in the short form. */
export function judgement(id, team_id, problem_id, judgement_type_id, minutes) {
  return { id, submission_id: `s${id}`, team_id, problem_id, judgement_type_id, contest_time: relative(minutes * 60_000) };
}

/**
 * Judgements at random, in the order of their times: strong teams (of low numbers) solve more, late letters are harder.
 *
 * @param {{random: () => number, below: (count: number) => number}} dice
 * @param {{count: number, teams: number, problems: number, from: number, to: number, prefix?: string}} plan times in minutes
 */
export function randomJudgements({ random, below }, { count, teams: teamCount, problems: problemCount, from, to, prefix = 'j' }) {
  return Array.from({ length: count }, (_, i) => {
    const team = Math.floor(teamCount * random() ** 1.5);
    const problem = Math.min(below(problemCount), below(problemCount));
    const chance = 0.75 - 0.35 * (team / teamCount) - 0.45 * (problem / problemCount);
    const verdict = random() < chance ? 'AC' : ['WA', 'WA', 'TLE', 'RTE', 'CE'][below(5)];
    const minutes = from + ((to - from) * (i + random())) / count;
    return judgement(`${prefix}${i}`, teamId(team + 1), String.fromCharCode(65 + problem), verdict, minutes);
  });
}
