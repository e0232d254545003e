// Random numbers from a seed that is printed, so that a failure can be repeated: PAGE_TEST_SEED=N.
const seed = Number(process.env.PAGE_TEST_SEED ?? Math.floor(Math.random() * 1e9));

export function randomFrom(name) {
  console.log(`${name}: PAGE_TEST_SEED=${seed}`);
  let state = [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) >>> 0, seed >>> 0);
  return () => {
    // Mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
