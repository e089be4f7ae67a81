/** How states, times and numbers are written. */

const TONES = {
  ready: "good",
  failed: "bad",
  "engine dead": "bad",
  starting: "busy",
  loading: "busy",
  restarting: "busy",
  healing: "busy",
  unloading: "busy",
  draining: "busy",
  stopping: "busy",
};

/** What a state means at a glance: good, busy, bad, or rest. */
export const tone = (state) => TONES[state] ?? "rest";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** A count, such as 12,345. */
export const count = (n) => whole.format(n);

/** A number with one digit behind the point, or none where it is large. */
export const short = (x) => (x >= 100 ? count(x) : x.toFixed(1));

/** Seconds a resource took; "" while that is not known. */
export function seconds(s) {
  if (s === null || s === undefined) return "";
  if (s < 0.0005) return "0 s";
  return s < 1 ? `${s.toFixed(3)} s` : `${s.toFixed(2)} s`;
}

/** A span of time in words, such as "3 h 12 min". */
export function span(s) {
  const total = Math.max(0, Math.floor(s));
  const [days, hours] = [Math.floor(total / 86400), Math.floor(total / 3600) % 24];
  const [minutes, rest] = [Math.floor(total / 60) % 60, total % 60];
  if (days) return `${days} d ${hours} h`;
  if (hours) return `${hours} h ${minutes} min`;
  return minutes ? `${minutes} min ${rest} s` : `${rest} s`;
}

/** The time of day of a moment, given in seconds since the epoch. */
export function clock(at) {
  return new Date(at * 1000).toLocaleTimeString("en-GB");
}

/** "1 model", "2 models". */
export const several = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
