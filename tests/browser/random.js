/** Random numbers from a seed (mulberry32), so that a failure can be replayed: SEED=123 npm test. */
export const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));

export function generator(from = seed) {
  let state = from >>> 0;
  const random = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { random, below: count => Math.floor(random() * count), pick: list => list[Math.floor(random() * list.length)] };
}
