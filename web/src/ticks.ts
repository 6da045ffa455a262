// Which versions have their names under the axis: all where there is room, else releases, else the first ones of days, weeks,
// months, quarters or years, else every so many.

import { lowerBound, type Versions } from "./data";

/** Pixels from one name to the next, at least. */
const ROOM = 92;

type Unit = "day" | "week" | "month" | "quarter" | "year";

function period(time: number, unit: Unit): number {
  const day = Math.floor(time / 86_400);
  if (unit === "day") return day;
  // 1970 began on a Thursday.
  if (unit === "week") return Math.floor((day + 3) / 7);
  const date = new Date(1000 * time);
  const month = 12 * date.getUTCFullYear() + date.getUTCMonth();
  return unit === "month" ? month : Math.floor(month / (unit === "quarter" ? 3 : 12));
}

export class Ticks {
  private readonly starts: [Unit, number[]][] = [];

  constructor(private readonly versions: Versions) {
    const dated = versions.times.some((time) => !Number.isNaN(time));
    for (const unit of dated ? (["day", "week", "month", "quarter", "year"] as const) : []) {
      const starts: number[] = [];
      let last = NaN;
      versions.times.forEach((time, at) => {
        if (Number.isNaN(time)) return;
        const now = period(time, unit);
        // Commits aren't always in the order of their dates.
        if (!(now <= last)) {
          starts.push(at);
          last = now;
        }
      });
      this.starts.push([unit, starts]);
    }
  }

  /** The versions with names between these ends, on so many pixels. */
  between(from: number, to: number, width: number): number[] {
    const first = Math.max(Math.ceil(from), 0);
    const last = Math.min(Math.floor(to), this.versions.count - 1);
    const most = Math.max(Math.floor(width / ROOM), 1);
    const count = last - first + 1;
    if (count <= most) return Array.from({ length: Math.max(count, 0) }, (_, n) => first + n);
    const within = (places: number[]) => places.slice(lowerBound(places, first), lowerBound(places, last + 1));
    const releases = within(this.versions.releases);
    let chosen: number[] | undefined;
    if (releases.length > 2 && releases.length <= 3 * most) chosen = releases;
    else chosen = this.starts.map(([, starts]) => within(starts)).find((some) => some.length <= 1.6 * most && some.length > 1);
    if (!chosen) {
      const step = Math.ceil(count / most);
      chosen = Array.from({ length: Math.ceil(count / step) }, (_, n) => first + n * step);
    }
    const apart = (ROOM * (to - from)) / width;
    let before = -Infinity;
    return chosen.filter((at) => {
      if (at - before < apart) return false;
      before = at;
      return true;
    });
  }

  label(at: number): string {
    const name = this.versions.name(at);
    return `${name.length > 13 ? `${name.slice(0, 12)}…` : name}\n${this.versions.day(at)}`;
  }
}
