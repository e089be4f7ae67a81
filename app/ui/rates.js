/** Tokens a second, from counters that are told once a second. */

const WINDOW_S = 5;
const N_SHOWN = 60;

/** How fast one counter grows, and how fast it did. */
export class Rate {
  constructor() {
    this.samples = [];
    this.shown = [];
  }

  /** Take what a counter says at a moment, in seconds. */
  add(at, n) {
    const last = this.samples.at(-1);
    // A new engine counts from 0, and a clock may be put back.
    if (last && (n < last.n || at < last.at)) this.samples = [];
    this.samples.push({ at, n });
    while (this.samples.length > 2 && at - this.samples[1].at >= WINDOW_S) {
      this.samples.shift();
    }
    this.shown = [...this.shown, this.perSecond ?? 0].slice(-N_SHOWN);
  }

  /** Over the last five seconds; null before two samples. */
  get perSecond() {
    const [first, last] = [this.samples[0], this.samples.at(-1)];
    if (!first || last.at <= first.at) return null;
    return (last.n - first.n) / (last.at - first.at);
  }
}
