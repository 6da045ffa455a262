// What the page shows, as the part of its address after `#`: it survives a reload, and the back button goes through it.

import type { Versions } from "./data";

export type Mode = "overlay" | "ratio" | "separate";

export interface State {
  /** The slugs of the chosen series, in the order of their colours. */
  chosen: string[];
  /** The first and the last version that are seen; null if all are. */
  range: [number, number] | null;
  /** Null: one picture where the units agree, else one each. */
  mode: Mode | null;
  /** The version that ratios are to; null: the first one that is seen. */
  base: number | null;
  query: string;
  /** `b:tbench`: a kind of tag and its value. */
  tag: string;
  changed: boolean;
  unstable: boolean;
  /** What the list is sorted by; `-` before it: the greatest first. */
  sort: string;
}

// Slugs have `=` and `,`, which mean nothing after the first `=`.
const encoded = (text: string) => encodeURIComponent(text).replaceAll("%2C", ",").replaceAll("%3D", "=").replaceAll("%3A", ":");

export function toHash(state: State, versions: Versions): string {
  const parts: [string, string][] = state.chosen.map((slug) => ["s", slug]);
  if (state.range) parts.push(["from", versions.part(state.range[0])], ["to", versions.part(state.range[1])]);
  if (state.mode) parts.push(["mode", state.mode]);
  if (state.base !== null) parts.push(["base", versions.part(state.base)]);
  if (state.query) parts.push(["q", state.query]);
  if (state.tag) parts.push(["tag", state.tag]);
  if (state.changed) parts.push(["changed", "1"]);
  if (state.unstable) parts.push(["unstable", "1"]);
  if (state.sort) parts.push(["sort", state.sort]);
  return parts.map(([key, value]) => `${key}=${encoded(value)}`).join("&");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function fromHash(hash: string, versions: Versions): State {
  const state: State = {
    chosen: [], range: null, mode: null, base: null, query: "", tag: "", changed: false, unstable: false, sort: "",
  };
  let from: number | undefined;
  let to: number | undefined;
  for (const part of hash.replace(/^#/, "").split("&")) {
    const equals = part.indexOf("=");
    if (equals < 0) continue;
    const value = decoded(part.slice(equals + 1));
    switch (part.slice(0, equals)) {
      case "s":
        if (!state.chosen.includes(value)) state.chosen.push(value);
        break;
      case "from": from = versions.place(value); break;
      case "to": to = versions.place(value); break;
      case "mode": if (value === "overlay" || value === "ratio" || value === "separate") state.mode = value; break;
      case "base": state.base = versions.place(value) ?? null; break;
      case "q": state.query = value; break;
      case "tag": state.tag = value; break;
      case "changed": state.changed = value === "1"; break;
      case "unstable": state.unstable = value === "1"; break;
      case "sort": state.sort = value; break;
    }
  }
  if (from !== undefined && to !== undefined && from <= to) state.range = [from, to];
  return state;
}
