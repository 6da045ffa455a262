// What a site's data scripts hand over, and how it is read: `crates/site/src/pages/history_data.rs` is the other end.
// Versions are places in the target's order; a value that isn't there is NaN.

interface VersionsJson {
  target: string;
  /** A line each: how many characters it has in common with the line before, as a digit of base 36, and the rest. */
  names: string;
  addresses: Record<string, string>;
  /** Minutes since 1970, to base 36: the first, then distances; nothing where one is the same again, `?` where there is none. */
  times: string;
  releases: number[];
  quirks: Record<string, string>;
  unmeasured: Record<string, [string, string]>;
  environment: Record<string, string>;
  /** What people say of versions. */
  said: Record<string, string>;
}

interface SeriesJson {
  slug: string;
  /** The study that measured it last. */
  like: string | null;
  name: string;
  benchmark: string;
  unit: string;
  axis: string;
  coverage: string;
  decimals: number;
  runs: number[];
  /** In units of the last decimal, to base 36: the first one, then each one's distance from the one before. */
  values: string;
  /**
   * How many decimals they have, then each in units of the last one, to base 36. Nothing between two commas where there is none,
   * nor at the end; empty where no version has one.
   */
  half: string;
  again: string;
  reboot: string;
  relink: string;
  counts: [number, string][];
  unstable: number[];
  changes: Change[];
  epochs: [number, string][];
  levels: [number, number, number][];
  drift: [number, number][];
  notes: string[];
}

export type ChangeKind = "worse" | "better" | "changed" | "accepted" | "doubted";

export interface Change {
  after: number | null;
  at: number;
  until: number;
  kind: ChangeKind;
  named: boolean;
  size: string;
  text: string;
}

/** A row of the list that the page had no room for. */
export interface ListRow {
  slug: string;
  name: string;
  benchmark: string;
  params: string;
  variant: string;
  place: string;
  family: string;
  value: string;
  unit: string;
  number: number | null;
  change: { class: string; mark: string; word: string; size: string; version: string; href: string; at: number } | null;
  unstable: boolean;
  spark: string;
}

/** The place of the first number that isn't less than this one, in an ascending list. */
export function lowerBound(list: ArrayLike<number>, least: number): number {
  let from = 0;
  let to = list.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (list[middle]! < least) from = middle + 1;
    else to = middle;
  }
  return from;
}

export class Versions {
  readonly target: string;
  readonly names: string[];
  /** Seconds since 1970; NaN where it isn't known. */
  readonly times: Float64Array;
  readonly releases: number[];
  readonly quirks: Map<number, string>;
  readonly unmeasured: Map<number, [standing: string, why: string]>;
  readonly environment: Map<number, string>;
  readonly said: Map<number, string>;
  titles: string[] = [];
  private readonly addresses: Record<string, string>;
  private places: Map<string, number> | null = null;

  constructor(json: VersionsJson) {
    const byPlace = <T>(of: Record<string, T>) => new Map(Object.entries(of).map(([at, it]) => [Number(at), it]));
    this.target = json.target;
    let name = "";
    this.names = json.names.split("\n").map((line) => (name = name.slice(0, parseInt(line[0]!, 36)) + line.slice(1)));
    this.addresses = json.addresses;
    let minute = 0;
    let distance = 0;
    this.times = Float64Array.from(json.times.split(","), (passed) => {
      if (passed === "?") return NaN;
      if (passed !== "") distance = parseInt(passed, 36);
      return 60 * (minute += distance);
    });
    this.releases = json.releases;
    this.quirks = byPlace(json.quirks);
    this.unmeasured = byPlace(json.unmeasured);
    this.environment = byPlace(json.environment);
    this.said = byPlace(json.said);
  }

  get count(): number {
    return this.names.length;
  }

  name(at: number): string {
    return this.names[at] ?? "";
  }

  /** The part of addresses that is this version. */
  part(at: number): string {
    return this.addresses[at] ?? this.name(at);
  }

  /** The version of this part, if there is one. */
  place(part: string): number | undefined {
    this.places ??= new Map(this.names.map((_, at) => [this.part(at), at]));
    return this.places.get(part);
  }

  day(at: number): string {
    const time = this.times[at] ?? NaN;
    return Number.isNaN(time) ? "" : new Date(1000 * time).toISOString().slice(0, 10);
  }

  page(at: number): string {
    return `v/${this.part(at)}.html`;
  }

  /** The page of the interval that ends with the first measured version from this one on. */
  interval(at: number): string | undefined {
    let to = at;
    while (to < this.count && this.unmeasured.has(to)) to += 1;
    let from = to - 1;
    while (from >= 0 && this.unmeasured.has(from)) from -= 1;
    return to < this.count && from >= 0 ? `compare/${this.part(from)}..${this.part(to)}.html` : undefined;
  }
}

/** A column with NaN where there is nothing; null if there is nothing at all. */
function column(of: string, count: number): Float64Array | null {
  if (of === "") return null;
  const [decimals, ...widths] = of.split(",");
  const unit = 10 ** Number(decimals);
  const column = new Float64Array(count).fill(NaN);
  widths.forEach((width, at) => (column[at] = width === "" ? NaN : parseInt(width, 36) / unit));
  return column;
}

export class Series {
  readonly slug: string;
  readonly like: string | null;
  readonly name: string;
  readonly benchmark: string;
  readonly unit: string;
  readonly axis: string;
  readonly coverage: string;
  /** The places of the versions that have a value, ascending; the columns go with it. */
  readonly at: Float64Array;
  readonly values: Float64Array;
  /** Half the widths of the 95 % intervals. */
  readonly half: Float64Array | null;
  /** Standard deviations: of trials of one boot, of boots of one build, of layouts. */
  readonly spreads: (Float64Array | null)[];
  readonly unstable: Set<number>;
  readonly changes: Change[];
  readonly epochs: [number, string][];
  readonly levels: [number, number, number][];
  readonly drift: [number, number][];
  readonly notes: string[];
  private readonly decimals: number;
  private readonly countStarts: number[];
  private readonly countTexts: string[];

  constructor(json: SeriesJson) {
    this.slug = json.slug;
    this.like = json.like;
    this.name = json.name;
    this.benchmark = json.benchmark;
    this.unit = json.unit;
    this.axis = json.axis;
    this.coverage = json.coverage;
    this.decimals = json.decimals;
    let sum = 0;
    const unit = 10 ** json.decimals;
    const distances = json.values === "" ? [] : json.values.split(",");
    this.values = Float64Array.from(distances, (distance) => (sum += parseInt(distance, 36)) / unit);
    this.at = new Float64Array(this.values.length);
    let point = 0;
    for (let run = 0; run + 1 < json.runs.length; run += 2) {
      for (let next = 0; next < json.runs[run + 1]!; next += 1) this.at[point++] = json.runs[run]! + next;
    }
    this.half = column(json.half, this.values.length);
    this.spreads = [json.again, json.reboot, json.relink].map((of) => column(of, this.values.length));
    this.unstable = new Set(json.unstable);
    this.changes = json.changes;
    this.epochs = json.epochs;
    this.levels = json.levels;
    this.drift = json.drift;
    this.notes = json.notes;
    this.countStarts = json.counts.map(([start]) => start);
    this.countTexts = json.counts.map(([, text]) => text);
  }

  /** The number of the point at a version; -1 where there is none. */
  point(at: number): number {
    const point = lowerBound(this.at, at);
    return this.at[point] === at ? point : -1;
  }

  /** A value with its interval, without its unit: with the digits that the interval leaves. */
  text(point: number): string {
    const half = this.half?.[point] ?? NaN;
    const value = this.values[point]!;
    if (!(half > 0)) return shown(value, this.decimals);
    const decimals = Math.min(Math.max(1 - Math.floor(Math.log10(half)), 0), 12);
    return `${shown(value, decimals)} ±${shown(half, decimals)}`;
  }

  /** What stands behind a value: `6 trials, 2 boots`. */
  counts(point: number): string {
    return this.countTexts[lowerBound(this.countStarts, point + 1) - 1] ?? "";
  }
}

/** A number with this many decimals, its digits in groups and a minus sign that is one. */
export function shown(value: number, decimals: number): string {
  const options = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return value.toLocaleString("en", options).replaceAll(",", "\u202f").replace("-", "−");
}

/** What the data scripts handed over, and what waits for it. */
export class Data {
  versions: Versions | null = null;
  private readonly series = new Map<string, Promise<Series>>();
  private readonly arrived = new Map<string, (json: SeriesJson) => void>();

  constructor(onVersions: (versions: Versions) => void, onTitles: () => void, onList: (rows: ListRow[]) => void) {
    window.backsight = (kind, value) => {
      if (kind === "versions") onVersions((this.versions = new Versions(value as VersionsJson)));
      else if (kind === "series") this.arrived.get((value as SeriesJson).slug)?.(value as SeriesJson);
      else if (kind === "list") onList(value as ListRow[]);
      else if (kind === "titles" && this.versions) {
        this.versions.titles = value as string[];
        onTitles();
      }
    };
  }

  /** A series, fetched when it is first asked for. */
  get(slug: string): Promise<Series> {
    const known = this.series.get(slug);
    if (known) return known;
    const promise = new Promise<Series>((resolve, reject) => {
      this.arrived.set(slug, (json) => resolve(new Series(json)));
      load(`data/s/${slug}.js`, () => reject(new Error(`there is no series ${slug}`)));
    });
    this.series.set(slug, promise);
    return promise;
  }
}

/** Runs one of the site's scripts. */
export function load(address: string, onError: () => void = () => {}): void {
  const script = document.createElement("script");
  script.src = address;
  script.onerror = onError;
  document.head.append(script);
}

declare global {
  interface Window {
    backsight: (kind: string, value: unknown) => void;
  }
}
