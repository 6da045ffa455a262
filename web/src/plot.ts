// Charts of series over versions. uPlot has the axes, the cursor and the brush; what lies between is drawn here, because
// intervals, levels and hundred thousand points a series are none of its kinds of lines. A chart is one of these; several
// charts share what is seen.

import uPlot from "uplot";
import { lowerBound, type Change, type Series, type Versions } from "./data";
import type { Ticks } from "./ticks";

/** A series with how it is shown. */
export interface Shown {
  series: Series;
  colour: string;
  /** Which mark its points have. */
  mark: number;
  /** What its values are divided by; 1 unless ratios are shown. */
  base: number;
}

export interface Theme {
  ink: string;
  soft: string;
  rule: string;
  paper: string;
  good: string;
  bad: string;
  unsure: string;
  tones: string[];
  font: string;
}

export function readTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    ink: read("ink"), soft: read("soft"), rule: read("rule"), paper: read("paper"),
    good: read("good"), bad: read("bad"), unsure: read("unsure"),
    tones: [0, 1, 2, 3, 4, 5].map((n) => read(`t${n}`)),
    font: getComputedStyle(document.body).fontFamily,
  };
}

export interface ChartOptions {
  shown: Shown[];
  ratio: boolean;
  height: number;
  /** Whether it is the only chart. */
  isOne: boolean;
  /** Whether the names of versions stand below it: of several charts below each other the last one has them. */
  names: boolean;
  versions: Versions;
  ticks: Ticks;
  theme: Theme;
  view: [number, number];
  onHover: (chart: Chart, at: number | null) => void;
  onBrush: (from: number, to: number) => void;
  onClick: (chart: Chart, x: number, y: number) => void;
}

/** Pixels to either side of a change or a point that count as on it. */
const NEAR = 9;
const HEAD = 22;
const LANE = 15;
/** Closer than this, in pixels, points are drawn as what they span. */
const DENSE = 1.6;
/** From so many pixels a version on, intervals have ends and spreads stand beside them. */
const ROOMY = 26;

const kindColour = (change: Change, theme: Theme) =>
  change.kind === "worse" ? theme.bad : change.kind === "better" ? theme.good : change.kind === "changed" ? theme.unsure : theme.soft;

export class Chart {
  readonly plot: uPlot;
  private view: [number, number];
  private theme: Theme;

  constructor(into: HTMLElement, private readonly options: ChartOptions) {
    const { theme, versions } = options;
    this.view = options.view;
    this.theme = theme;
    const font = `11px ${theme.font}`;
    const chart = this;
    this.plot = new uPlot({
      width: Math.max(into.clientWidth, 200),
      height: options.height,
      // To the right there is room for half a name.
      padding: [HEAD, 32, options.names ? 0 : 4, 0],
      legend: { show: false },
      scales: {
        x: { time: false, range: () => [chart.view[0], chart.view[1]] },
        y: { range: () => chart.range() },
      },
      series: [{}, { show: true, points: { show: false }, paths: () => null }],
      axes: [
        {
          show: options.names, stroke: () => chart.theme.soft, font, size: 38, gap: 4,
          grid: { show: false }, ticks: { stroke: () => chart.theme.soft, width: 1, size: 4 },
          splits: (u, _, from, to) => options.ticks.between(from, to, u.bbox.width / devicePixelRatio),
          values: (_, splits) => splits.map((at) => options.ticks.label(at)),
        },
        {
          stroke: () => chart.theme.soft, font, gap: 6, space: 34,
          size: (_, values) => 16 + 6.4 * Math.max(4, ...(values ?? []).map((value) => value.length)),
          grid: { stroke: () => chart.theme.rule, width: 1 }, ticks: { show: false },
          values: (_, splits) => axisTexts(splits, options.ratio),
        },
      ],
      cursor: {
        y: false, points: { show: false }, drag: { x: true, y: false, setScale: false, dist: 5 },
        sync: { key: "versions", setSeries: false }, bind: { dblclick: () => () => null },
      },
      hooks: {
        drawClear: [() => chart.ground()],
        draw: [() => chart.draw()],
        setCursor: [(u) => {
          const left = u.cursor.left ?? -1;
          // The others' cursors follow; only one is pointed at.
          if (left >= 0 && !u.over.matches(":hover")) return;
          const at = Math.min(Math.max(Math.round(u.posToVal(left, "x")), 0), versions.count - 1);
          options.onHover(chart, left < 0 ? null : at);
        }],
        setSelect: [(u) => {
          if (u.select.width < 5) return;
          const [from, to] = [u.select.left, u.select.left + u.select.width].map((x) => u.posToVal(x, "x"));
          u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
          options.onBrush(from!, to!);
        }],
      },
    }, [[0, Math.max(versions.count - 1, 1)], [null, null]], into);
    let down = [0, 0];
    this.plot.over.addEventListener("mousedown", (event) => (down = [event.clientX, event.clientY]));
    this.plot.over.addEventListener("click", (event) => {
      if (Math.hypot(event.clientX - down[0]!, event.clientY - down[1]!) < 4) {
        const box = this.plot.over.getBoundingClientRect();
        options.onClick(this, event.clientX - box.left, event.clientY - box.top);
      }
    });
  }

  get shown(): Shown[] {
    return this.options.shown;
  }

  setView(view: [number, number]): void {
    this.view = view;
    this.plot.setScale("x", { min: view[0], max: view[1] });
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.plot.redraw(false, true);
  }

  resize(width: number): void {
    if (width > 0 && width !== this.plot.width) this.plot.setSize({ width, height: this.options.height });
  }

  destroy(): void {
    this.plot.destroy();
  }

  /** Pixels from one version to the next. */
  apart(): number {
    return this.plot.bbox.width / devicePixelRatio / (this.view[1] - this.view[0]);
  }

  /** The version at a place, if one of the series has a point near it. */
  pointAt(x: number, y: number): number | undefined {
    const at = Math.round(this.plot.posToVal(x, "x"));
    if (Math.abs(this.plot.valToPos(at, "x") - x) > NEAR) return undefined;
    const isNear = ({ series, base }: Shown) => {
      const point = series.point(at);
      return point >= 0 && Math.abs(this.plot.valToPos(series.values[point]! / base, "y") - y) <= NEAR;
    };
    return this.shown.some(isNear) ? at : undefined;
  }

  /** The changes whose line is near here. */
  changesAt(x: number): Change[] {
    const near = (change: Change) => Math.abs(this.plot.valToPos(change.at - 0.5, "x") - x) <= NEAR;
    return this.shown.flatMap(({ series }) => series.changes.filter((change) => isDrawn(change) && near(change)));
  }

  /** What the values that are seen span, and their intervals as far as they don't drown them. */
  private range(): [number, number] {
    let [low, high] = [Infinity, -Infinity];
    const seen = this.shown.map(({ series, base }) => ({ series, base, from: lowerBound(series.at, this.view[0]), to: lowerBound(series.at, this.view[1]) }));
    for (const { series, base, from, to } of seen) {
      for (let point = from; point < to; point += 1) {
        const value = series.values[point]! / base;
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
    if (low > high) return [0, 1];
    const span = Math.max(high - low, Math.abs(high) * 1e-3, Number.MIN_VALUE);
    let [least, most] = [low, high];
    for (const { series, base, from, to } of seen) {
      if (!series.half) continue;
      for (let point = from; point < to; point += 1) {
        const half = series.half[point]!;
        if (!(half > 0)) continue;
        least = Math.min(least, (series.values[point]! - half) / base);
        most = Math.max(most, (series.values[point]! + half) / base);
      }
    }
    least = Math.max(least, low - 0.3 * span);
    most = Math.min(most, high + 0.3 * span);
    const air = 0.06 * (most - least) || 0.5;
    // The lane at the foot has room of its own.
    const lane = (LANE / Math.max(this.options.height - HEAD - 40, 60)) * (most - least);
    return [least - air - lane, most + air];
  }

  private x(at: number): number {
    return this.plot.valToPos(at, "x", true);
  }

  /** Behind the grid: where changes may lie, releases. */
  private ground(): void {
    const { ctx, bbox } = this.plot;
    const ratio = devicePixelRatio;
    ctx.save();
    this.clip(ctx);
    for (const { series } of this.shown) {
      for (const change of series.changes) {
        if (!isDrawn(change) || !this.isSeen(change.after ?? 0, change.until)) continue;
        const from = this.x(change.after ?? -0.5);
        ctx.globalAlpha = 0.1;
        ctx.fillStyle = kindColour(change, this.theme);
        ctx.fillRect(from, bbox.top, Math.max(this.x(change.until) - from, ratio), bbox.height);
      }
    }
    ctx.restore();
    this.releases(ctx);
    this.head(ctx);
  }

  /** The unit above its axis; of several charts below each other also which series it is. */
  private head(ctx: CanvasRenderingContext2D): void {
    const ratio = devicePixelRatio;
    const { left, top } = this.plot.bbox;
    const { series, colour } = this.shown[0] ?? {};
    if (!series || !colour) return;
    ctx.save();
    ctx.font = `${11 * ratio}px ${this.theme.font}`;
    ctx.fillStyle = this.theme.soft;
    ctx.textAlign = "right";
    if (!this.options.ratio) ctx.fillText(series.unit, left - 6 * ratio, top - 7 * ratio);
    if (!this.options.isOne) {
      ctx.textAlign = "left";
      ctx.fillStyle = this.theme.ink;
      ctx.fillText(series.name, left + 12 * ratio, top - 7 * ratio);
      ctx.fillStyle = colour;
      ctx.beginPath();
      shape(ctx, this.shown[0]!.mark, left + 4 * ratio, top - 11 * ratio, 3.5 * ratio);
      ctx.fill();
    }
    ctx.restore();
  }

  private clip(ctx: CanvasRenderingContext2D): void {
    const { left, top, width, height } = this.plot.bbox;
    ctx.beginPath();
    ctx.rect(left, top, width, height);
    ctx.clip();
  }

  private isSeen(from: number, to: number): boolean {
    return to >= this.view[0] && from <= this.view[1];
  }

  /** Releases as upright lines, with their names above where they fit. */
  private releases(ctx: CanvasRenderingContext2D): void {
    const { bbox } = this.plot;
    const { releases } = this.options.versions;
    const ratio = devicePixelRatio;
    const seen = releases.slice(lowerBound(releases, this.view[0]), lowerBound(releases, this.view[1] + 1e-9));
    // Where each version is a release, a line says nothing.
    if (seen.length === 0 || seen.length > 0.6 * (this.view[1] - this.view[0])) return;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = this.theme.soft;
    ctx.lineWidth = ratio;
    ctx.setLineDash([ratio, 3 * ratio]);
    ctx.font = `${10.5 * ratio}px ${this.theme.font}`;
    // The axis has names of its own; of several charts the head has the series'. A line without a name says nothing where
    // there are many.
    const named = new Set(this.options.ticks.between(this.view[0], this.view[1], bbox.width / ratio));
    const isRare = seen.length <= bbox.width / ratio / 24;
    let free = this.options.isOne ? -Infinity : Infinity;
    for (const at of seen) {
      const x = Math.round(this.x(at)) + 0.5;
      const name = this.options.versions.name(at);
      const half = ctx.measureText(name).width / 2;
      const hasName = x - half >= free && name.length <= 24 && !named.has(at);
      if (!isRare && !hasName && !named.has(at)) continue;
      ctx.globalAlpha = 0.55;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      if (!hasName) continue;
      ctx.globalAlpha = 1;
      ctx.textAlign = "center";
      ctx.fillText(name, Math.min(Math.max(x, bbox.left + half), bbox.left + bbox.width - half), bbox.top - 7 * ratio);
      free = x + half + 24 * ratio;
    }
    ctx.restore();
  }

  private draw(): void {
    const { ctx } = this.plot;
    ctx.save();
    this.clip(ctx);
    for (const shown of this.shown) this.levels(ctx, shown);
    for (const shown of this.shown) this.points(ctx, shown);
    for (const [number, shown] of this.shown.entries()) this.changes(ctx, shown, number);
    this.lane(ctx);
    ctx.restore();
  }

  private levels(ctx: CanvasRenderingContext2D, { series, base, colour }: Shown): void {
    const y = (value: number) => this.plot.valToPos(value / base, "y", true);
    const ratio = devicePixelRatio;
    ctx.strokeStyle = this.shown.length > 1 ? colour : this.theme.ink;
    ctx.globalAlpha = 0.7;
    ctx.lineWidth = 1.2 * ratio;
    ctx.beginPath();
    for (const [from, to, value] of series.levels) {
      ctx.moveTo(this.x(Math.max(from, this.view[0])), y(value));
      ctx.lineTo(this.x(Math.min(to, this.view[1])), y(value));
    }
    ctx.stroke();
    if (series.drift.length === 0) return;
    ctx.strokeStyle = this.theme.tones[4]!;
    ctx.setLineDash([6 * ratio, 3 * ratio]);
    ctx.beginPath();
    for (const [at, value] of series.drift) ctx.lineTo(this.x(at), y(value));
    ctx.stroke();
    ctx.setLineDash([]);
  }

  private points(ctx: CanvasRenderingContext2D, shown: Shown): void {
    const { series } = shown;
    const from = Math.max(lowerBound(series.at, this.view[0]) - 1, 0);
    const to = Math.min(lowerBound(series.at, this.view[1]) + 1, series.at.length);
    const apart = this.plot.bbox.width / devicePixelRatio / Math.max(to - from, 1);
    if (apart < DENSE) this.spans(ctx, shown, from, to);
    else this.dots(ctx, shown, from, to, apart);
    ctx.globalAlpha = 1;
  }

  /** Points closer than pixels: from the least to the greatest of each column, and the usual interval as a band. */
  private spans(ctx: CanvasRenderingContext2D, { series, base, colour }: Shown, from: number, to: number): void {
    const { at, values, half } = series;
    const wide = Math.max(Math.round(1.6 * devicePixelRatio), 1);
    // The band is calmer than the values: so many columns have one mean.
    const together = 5;
    const left = this.x(0);
    const step = this.x(1) - left;
    const y0 = this.plot.valToPos(0, "y", true);
    const slope = (this.plot.valToPos(1, "y", true) - y0) / base;
    const columnOf = (point: number) => Math.floor((left + step * at[point]!) / wide);
    const upper: number[] = [];
    const lower: number[] = [];
    let [sum, logs, count] = [0, 0, 0];
    ctx.beginPath();
    let point = from;
    while (point < to) {
      const column = columnOf(point);
      let [least, most] = [Infinity, -Infinity];
      for (; point < to && columnOf(point) === column; point += 1) {
        const value = values[point]!;
        if (value < least) least = value;
        if (value > most) most = value;
        const reach = half ? half[point]! : NaN;
        if (!(reach > 0)) continue;
        sum += value;
        logs += Math.log(reach);
        count += 1;
      }
      const x = (column + 0.5) * wide;
      const [top, foot] = [y0 + slope * most, y0 + slope * least];
      ctx.moveTo(x, Math.min(top, foot - wide));
      ctx.lineTo(x, foot);
      const isLast = point >= to || Math.floor(columnOf(point) / together) !== Math.floor(column / together);
      if (!isLast || count === 0) continue;
      // Of two trials each a few intervals are so wide that a mean would say nothing of the others.
      const reach = Math.exp(logs / count);
      upper.push(x, y0 + slope * (sum / count + reach));
      lower.push(x, y0 + slope * (sum / count - reach));
      [sum, logs, count] = [0, 0, 0];
    }
    ctx.globalAlpha = 0.9;
    ctx.strokeStyle = colour;
    ctx.lineWidth = wide;
    ctx.stroke();
    if (upper.length < 4) return;
    const band = new Path2D();
    for (let n = 0; n < upper.length; n += 2) band.lineTo(upper[n]!, upper[n + 1]!);
    for (let n = lower.length - 2; n >= 0; n -= 2) band.lineTo(lower[n]!, lower[n + 1]!);
    ctx.globalAlpha = this.shown.length > 1 ? 0.08 : 0.14;
    ctx.fillStyle = colour;
    ctx.fill(band);
  }

  /** Points one by one, with their intervals as whiskers, and the spreads beside them where there is room. */
  private dots(ctx: CanvasRenderingContext2D, { series, base, colour, mark }: Shown, from: number, to: number, apart: number): void {
    const ratio = devicePixelRatio;
    const { at, values, half } = series;
    const y = (value: number) => this.plot.valToPos(value / base, "y", true);
    const room = apart >= ROOMY && this.shown.length === 1;
    if (half) {
      ctx.beginPath();
      for (let point = from; point < to; point += 1) {
        const reach = half[point]!;
        if (!(reach > 0)) continue;
        const x = this.x(at[point]!);
        const [top, foot] = [y(values[point]! + reach), y(values[point]! - reach)];
        ctx.moveTo(x, top);
        ctx.lineTo(x, foot);
        if (apart < 12) continue;
        const end = 3 * ratio;
        ctx.moveTo(x - end, top);
        ctx.lineTo(x + end, top);
        ctx.moveTo(x - end, foot);
        ctx.lineTo(x + end, foot);
      }
      ctx.globalAlpha = apart < 5 ? 0.28 : 0.5;
      ctx.strokeStyle = colour;
      ctx.lineWidth = ratio;
      ctx.stroke();
    }
    if (room) {
      series.spreads.forEach((spread, level) => {
        if (!spread) return;
        ctx.beginPath();
        for (let point = from; point < to; point += 1) {
          if (!(spread[point]! >= 0)) continue;
          const x = this.x(at[point]!) + (6 + 3 * level) * ratio;
          ctx.moveTo(x, y(values[point]! + spread[point]!));
          ctx.lineTo(x, y(values[point]! - spread[point]!));
        }
        ctx.globalAlpha = 0.9;
        ctx.strokeStyle = this.theme.tones[[2, 3, 5][level]!]!;
        ctx.lineWidth = 1.5 * ratio;
        ctx.stroke();
      });
    }
    const radius = Math.min(Math.max(apart / 4, 1.5), 3.2) * ratio;
    ctx.globalAlpha = 1;
    ctx.fillStyle = ctx.strokeStyle = colour;
    ctx.lineWidth = 1.5 * ratio;
    ctx.beginPath();
    for (let point = from; point < to; point += 1) {
      if (!series.unstable.has(at[point]!)) shape(ctx, mark, this.x(at[point]!), y(values[point]!), radius);
    }
    ctx.fill();
    if (series.unstable.size === 0) return;
    // An unstable version's mark is hollow.
    ctx.beginPath();
    for (let point = from; point < to; point += 1) {
      if (series.unstable.has(at[point]!)) shape(ctx, mark, this.x(at[point]!), y(values[point]!), radius + 0.8 * ratio);
    }
    ctx.fillStyle = this.theme.paper;
    ctx.fill();
    ctx.stroke();
  }

  /** A line at each change, with a sign that says which way it goes. */
  private changes(ctx: CanvasRenderingContext2D, { series, colour }: Shown, number: number): void {
    const ratio = devicePixelRatio;
    const { bbox } = this.plot;
    for (const change of series.changes) {
      if (!isDrawn(change) || !this.isSeen(change.at - 0.5, change.at - 0.5)) continue;
      const x = this.x(change.at - 0.5);
      ctx.strokeStyle = ctx.fillStyle = change.named ? this.theme.ink : kindColour(change, this.theme);
      ctx.globalAlpha = 0.8;
      ctx.lineWidth = 1.4 * ratio;
      ctx.setLineDash(change.named ? [9 * ratio, 4 * ratio] : []);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.setLineDash([]);
      ctx.globalAlpha = 1;
      const y = bbox.top + (9 + 15 * number) * ratio;
      sign(ctx, change, x, y, 6 * ratio, this.theme.paper);
      if (this.shown.length > 1) {
        ctx.fillStyle = colour;
        ctx.fillRect(x + 9 * ratio, y - 3 * ratio, 6 * ratio, 6 * ratio);
      }
    }
  }

  /** At the foot: versions that couldn't be measured, quirks, notes, where the environment or the noise changed. */
  private lane(ctx: CanvasRenderingContext2D): void {
    const ratio = devicePixelRatio;
    const { bbox } = this.plot;
    const { versions } = this.options;
    const y = bbox.top + bbox.height - (LANE / 2) * ratio;
    ctx.font = `600 ${10.5 * ratio}px ${this.theme.font}`;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    ctx.lineWidth = 1.3 * ratio;
    ctx.strokeStyle = this.theme.bad;
    ctx.beginPath();
    const end = Math.min(2.4, Math.max(this.apart() / 3, 1)) * ratio;
    for (const [at, [standing]] of versions.unmeasured) {
      if (standing === "pending" || !this.isSeen(at, at)) continue;
      const x = this.x(at);
      ctx.moveTo(x - end, y - end);
      ctx.lineTo(x + end, y + end);
      ctx.moveTo(x - end, y + end);
      ctx.lineTo(x + end, y - end);
    }
    ctx.stroke();
    const marks = new Map<number, [string, string][]>();
    const letters = (places: Iterable<number>, letter: string, colour: string) => {
      for (const at of places) {
        if (!this.isSeen(at, at)) continue;
        const there = marks.get(at);
        if (there) there.push([letter, colour]);
        else marks.set(at, [[letter, colour]]);
      }
    };
    letters(versions.quirks.keys(), "q", this.theme.unsure);
    letters(versions.environment.keys(), "e", this.theme.tones[3]!);
    letters(versions.said.keys(), "n", this.theme.ink);
    for (const { series, colour } of this.shown) letters(series.epochs.map(([at]) => at), "≈", this.shown.length > 1 ? colour : this.theme.ink);
    let free = -Infinity;
    for (const [at, there] of [...marks].sort(([one], [other]) => one - other)) {
      // Those of one version stand beside each other.
      const from = this.x(at) - 4 * ratio * (there.length - 1);
      if (from < free) continue;
      there.forEach(([letter, colour], place) => {
        ctx.fillStyle = colour;
        ctx.fillText(letter, from + 8 * ratio * place, y);
      });
      free = from + (8 * there.length + 1) * ratio;
    }
    ctx.textBaseline = "alphabetic";
  }
}

/** Whether a change has a line: what isn't believed only stands in the list. */
function isDrawn(change: Change): boolean {
  return change.kind !== "doubted";
}

/** The sign of a change: a cross for worse, a tick for better, a diamond for what a bisection named, else a ring. */
function sign(ctx: CanvasRenderingContext2D, change: Change, x: number, y: number, size: number, paper: string): void {
  const colour = ctx.fillStyle;
  ctx.beginPath();
  if (change.named) {
    ctx.moveTo(x, y - size);
    ctx.lineTo(x + size, y);
    ctx.lineTo(x, y + size);
    ctx.lineTo(x - size, y);
    ctx.closePath();
  } else ctx.arc(x, y, size, 0, 2 * Math.PI);
  ctx.fill();
  const s = 0.42 * size;
  ctx.strokeStyle = ctx.fillStyle = paper;
  ctx.lineWidth = 0.27 * size;
  ctx.beginPath();
  if (change.kind === "worse") {
    ctx.moveTo(x - s, y - s);
    ctx.lineTo(x + s, y + s);
    ctx.moveTo(x - s, y + s);
    ctx.lineTo(x + s, y - s);
  } else if (change.kind === "better") {
    ctx.moveTo(x - 1.2 * s, y);
    ctx.lineTo(x - 0.3 * s, y + s);
    ctx.lineTo(x + 1.2 * s, y - s);
  } else ctx.arc(x, y, s, 0, 2 * Math.PI);
  ctx.stroke();
  ctx.fillStyle = colour;
}

/** A point's mark: a circle, a square, a triangle. */
function shape(ctx: CanvasRenderingContext2D, mark: number, x: number, y: number, radius: number): void {
  if (mark % 3 === 0) {
    ctx.moveTo(x + radius, y);
    ctx.arc(x, y, radius, 0, 2 * Math.PI);
  } else if (mark % 3 === 1) ctx.rect(x - radius, y - radius, 2 * radius, 2 * radius);
  else {
    ctx.moveTo(x, y - 1.2 * radius);
    ctx.lineTo(x + 1.2 * radius, y + radius);
    ctx.lineTo(x - 1.2 * radius, y + radius);
    ctx.closePath();
  }
}

/** Round values as text: all with the decimals that tell them apart; of ratios the difference in percent. */
function axisTexts(values: number[], ratio: boolean): string[] {
  const scaled = ratio ? values.map((value) => 100 * (value - 1)) : values;
  const step = scaled.length > 1 ? Math.abs(scaled[1]! - scaled[0]!) : 1;
  let decimals = Math.min(Math.max(-Math.floor(Math.log10(step) + 1e-9), 0), 10);
  // A step of 0.025 needs one more.
  if (Math.abs(step * 10 ** decimals - Math.round(step * 10 ** decimals)) > 1e-6) decimals += 1;
  return scaled.map((value) => {
    const text = (Math.abs(value) < step / 1e6 ? 0 : value).toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
    const signed = text.replaceAll(",", "\u202f").replace("-", "−");
    return ratio ? `${value > step / 1e6 ? "+" : ""}${signed} %` : signed;
  });
}
