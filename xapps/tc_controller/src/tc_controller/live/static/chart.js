// The curves of one bearer: sojourn against bound, rate and queue over the same time.

import { bytes, clock, duration, html, plural, rate, setText, span, svg } from "./words.js";

const LEFT = 72;
const RIGHT = 12;
const PLOTS = [
  { title: "Sojourn", top: 18, height: 200, show: duration, log: true },
  { title: "Rate", top: 246, height: 64, show: rate },
  { title: "Queued in RLC and pipeline", top: 338, height: 64, show: bytes },
];
const HEIGHT = 426;
const STEPS = [1, 2, 5];
/** Lengths of the time axis, s: it grows with what there is to show. */
const WINDOWS = [60, 120, 300, 600, 1800, 3600];

export class Chart {
  constructor() {
    this.picture = svg("svg", { height: HEIGHT, role: "img", focusable: "false" });
    this.frame = html("div", { class: "frame" }, this.picture);
    this.moment = html("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "Moment shown" });
    this.readout = html("output");
    this.summary = html("p", { class: "note" });
    this.element = html("figure", {}, this.frame, html("div", { class: "moment" }, this.moment, this.readout), this.summary);
    this.follows = true;
    this.width = 0;
    new ResizeObserver(() => {
      if (this.frame.clientWidth !== this.width) this.draw();
    }).observe(this.frame);
    this.moment.addEventListener("input", () => this.pick(Number(this.moment.value)));
    this.picture.addEventListener("pointermove", (event) => this.point(event));
    this.picture.addEventListener("pointerleave", () => this.pick(this.times.length - 1));
    this.times = [];
    this.samples = [[], [], []];
  }

  /** `times`: µs; `samples`: sojourn ms, rate kbit/s, queue bytes; `marks`: decisions. */
  show(name, times, samples, bound, marks, seconds) {
    const covered = times.length ? (times.at(-1) - times[0]) / 1e6 : 0;
    const window = WINDOWS.find((each) => each >= covered) ?? seconds;
    const shown = `${name} ${times.at(-1)} ${bound} ${seconds} ${(marks ?? []).map((mark) => mark.id + mark.result)}`;
    if (shown === this.shown) return;
    this.shown = shown;
    Object.assign(this, { name, times, samples, bound, marks, seconds: Math.min(window, seconds) });
    this.draw();
  }

  x(at) {
    const end = this.times.at(-1) ?? 0;
    return LEFT + (this.width - LEFT - RIGHT) * (1 - (end - at) / (this.seconds * 1e6));
  }

  draw() {
    this.width = this.frame.clientWidth;
    if (!this.width || !this.seconds) return;
    this.picture.setAttribute("width", this.width);
    this.picture.replaceChildren(...this.timeAxis(), ...PLOTS.flatMap((plot, index) => this.plot(plot, index)), ...this.decisions());
    this.cursor = svg("line", { class: "cursor", y1: PLOTS[0].top, y2: PLOTS[2].top + PLOTS[2].height });
    this.picture.append(this.cursor);
    this.moment.max = Math.max(0, this.times.length - 1);
    this.pick(this.follows ? this.times.length - 1 : Math.min(this.index, this.times.length - 1));
    this.describe();
  }

  timeAxis() {
    const last = PLOTS[2].top + PLOTS[2].height;
    const end = this.times.at(-1) ?? 0;
    const step = this.seconds / (this.width < 500 ? 2 : this.seconds === 120 ? 4 : this.seconds > 300 ? 6 : 5);
    const marks = [];
    for (let s = 0; s <= this.seconds; s += step) {
      const x = this.x(end - s * 1e6);
      marks.push(svg("line", { class: "grid", x1: x, x2: x, y1: PLOTS[0].top, y2: last }));
      const anchor = s === 0 ? "end" : s === this.seconds ? "start" : "middle";
      marks.push(svg("text", { x: s === 0 ? x + RIGHT - 2 : x, y: last + 17, "text-anchor": anchor }, s === 0 ? "now" : `−${s % 60 || s < 60 ? `${s} s` : `${s / 60} min`}`));
    }
    return marks;
  }

  plot({ title, top, height, show, log }, index) {
    const values = this.samples[index];
    const known = values.filter((value) => value != null);
    const scale = log ? logScale(known, this.bound) : linearScale(known);
    const y = (value) => top + height * (1 - scale.at(value));
    const right = this.width - RIGHT;
    const parts = [svg("text", { class: "title", x: LEFT, y: top - 6 }, title)];
    for (const tick of scale.ticks) {
      parts.push(svg("line", { class: "grid", x1: LEFT, x2: right, y1: y(tick), y2: y(tick) }));
      parts.push(svg("text", { x: LEFT - 8, y: y(tick) + 4, "text-anchor": "end" }, tick === 0 ? "0" : show(tick).replace(/\.0+(?= )/, "")));
    }
    const path = this.path(values, y);
    if (!log) return [...parts, svg("path", { class: `line q${index}`, d: path })];
    const middle = this.bound == null ? top : Math.max(top, Math.min(top + height, y(this.bound)));
    const band = (from, to, kind) => svg("svg", { y: from, width: this.width, height: Math.max(0, to - from), overflow: "hidden" },
      svg("g", { transform: `translate(0 -${from})` }, ...kind));
    const area = this.area(values, y, middle);
    parts.push(band(top - 2, middle, [svg("path", { class: "area", d: area }), svg("path", { class: "line above", d: path })]));
    parts.push(band(middle, top + height + 2, [svg("path", { class: "line below", d: path })]));
    if (this.bound != null) {
      parts.push(svg("line", { class: "bound", x1: LEFT, x2: right, y1: middle, y2: middle }));
      parts.push(svg("text", { class: "bound-name", x: LEFT + 5, y: middle - 5 }, `bound ${duration(this.bound)}`));
    }
    return parts;
  }

  path(values, y) {
    let path = "";
    values.forEach((value, index) => {
      if (value == null) return;
      const pen = index > 0 && values[index - 1] != null ? "L" : "M";
      path += `${pen}${this.x(this.times[index]).toFixed(1)} ${y(value).toFixed(1)}`;
    });
    return path;
  }

  area(values, y, base) {
    let path = "";
    let open = false;
    values.forEach((value, index) => {
      if (value == null) return;
      const x = this.x(this.times[index]).toFixed(1);
      path += `${open ? "L" : `M${x} ${base}L`}${x} ${y(value).toFixed(1)}`;
      open = values[index + 1] != null;
      if (!open) path += `L${x} ${base}Z`;
    });
    return path;
  }

  decisions() {
    const { top, height } = PLOTS[0];
    const begin = this.times.at(-1) - this.seconds * 1e6;
    return (this.marks ?? []).filter((mark) => mark.at_us >= begin && mark.at_us <= this.times.at(-1)).map((mark) => {
      const x = this.x(mark.at_us);
      return svg("g", { class: "mark" },
        svg("title", {}, `${clock(mark.at_us)}: ${mark.template}, ${mark.result}`),
        svg("line", { x1: x, x2: x, y1: top, y2: top + height }),
        svg("path", { d: `M${x - 5} ${top - 8}H${x + 5}L${x} ${top}Z` }),
        svg("text", { x: x + (x > this.width - 120 ? -8 : 8), y: top + 4, "text-anchor": x > this.width - 120 ? "end" : "start" }, mark.template));
    });
  }

  point(event) {
    const x = event.clientX - this.picture.getBoundingClientRect().left;
    let best = 0;
    this.times.forEach((at, index) => {
      if (Math.abs(this.x(at) - x) < Math.abs(this.x(this.times[best]) - x)) best = index;
    });
    this.pick(best);
  }

  pick(index) {
    const at = this.times[index];
    if (at === undefined) return;
    this.index = index;
    this.follows = index === this.times.length - 1;
    this.moment.value = index;
    this.cursor?.setAttribute("visibility", this.follows ? "hidden" : "visible");
    for (const end of ["x1", "x2"]) this.cursor?.setAttribute(end, this.x(at));
    const [sojourn, kbps, queue] = this.samples.map((values) => values[index]);
    const text = `${clock(at)} · sojourn ${duration(sojourn)} · ${rate(kbps)} · queue ${bytes(queue)}`;
    setText(this.readout, text);
    this.moment.setAttribute("aria-valuetext", text);
  }

  describe() {
    const sojourn = this.samples[0];
    const known = sojourn.filter((value) => value != null);
    const over = this.bound == null ? 0 : known.filter((value) => value > this.bound).length;
    let text = `No sojourn of ${this.name} is known yet.`;
    if (known.length) {
      const highest = Math.max(...known);
      const at = this.times[sojourn.indexOf(highest)];
      text = `In the last ${span((this.times.at(-1) - this.times[0]) || 1e6)}: highest sojourn ${duration(highest)} at ${clock(at)}`;
      text += this.bound == null ? "." : `, above the bound of ${duration(this.bound)} in ${plural(over, "second")}.`;
      const missing = sojourn.length - known.length;
      if (missing) text += ` ${plural(missing, "second")} without a report.`;
    }
    setText(this.summary, text);
    this.picture.setAttribute("aria-label", `Sojourn, rate and queue of ${this.name}. ${text}`);
  }
}

function logScale(values, bound) {
  const floor = 0.5;
  const top = Math.max(10, 4 * (bound ?? 1), ...values);
  const high = Math.log10(niceAbove(top));
  const low = Math.log10(floor);
  const ticks = [];
  for (let power = 0; power <= high + 1e-9; power++) ticks.push(10 ** power);
  return { ticks, at: (value) => (Math.log10(Math.max(value, floor)) - low) / (high - low) };
}

function linearScale(values) {
  const top = niceAbove(Math.max(1, ...values));
  return { ticks: [0, top], at: (value) => value / top };
}

/** The next 1, 2 or 5 times a power of ten. */
function niceAbove(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return (STEPS.find((step) => step * power >= value) ?? 10) * power;
}
