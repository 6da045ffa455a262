// The list of series: the page's own table, which this sorts and filters, with a box to choose each row.

import type { ListRow } from "./data";
import { find, make } from "./dom";
import type { State } from "./state";

interface Row {
  element: HTMLTableRowElement;
  slug: string;
  name: string;
  /** What a search looks in, in lower case. */
  text: string;
  /** `b:tbench`, `p:clients=2`: what the row is filtered by. */
  tags: string[];
  changed: boolean;
  unstable: boolean;
  box: HTMLInputElement;
}

/** Kinds of tags, by the letter that they begin with. */
const KINDS: [string, string][] = [["b", "Benchmark"], ["p", "Parameter"], ["v", "Variant"], ["h", "Host"], ["k", "Kind"]];

export class List {
  private readonly table = find<HTMLTableElement>("table.series");
  private readonly body = this.table.tBodies[0]!;
  private readonly columns: string[];
  private readonly rows: Row[] = [];
  private readonly bySlug = new Map<string, Row>();

  constructor(private readonly on: { choose: (slug: string, add: boolean) => void; sort: (by: string) => void }) {
    const heads = [...this.table.tHead!.rows[0]!.cells];
    this.columns = heads.map((head) => head.dataset["by"] ?? "");
    for (const head of heads.filter((head) => head.dataset["by"])) {
      const button = make("button", { type: "button", onclick: () => on.sort(head.dataset["by"]!) }, head.textContent ?? "");
      head.replaceChildren(button);
    }
    find<HTMLTableRowElement>("thead tr", this.table).prepend(make("th", { scope: "col", class: "box" }, make("span", { class: "unseen" }, "Shown")));
    for (const element of [...this.body.rows]) this.take(element);
    this.body.addEventListener("click", (event) => this.click(event));
  }

  /** Rows that the page had no room for. */
  add(rows: ListRow[]): void {
    for (const row of rows) {
      const element = this.element(row);
      this.body.append(element);
      this.take(element);
    }
    document.querySelector(".rest")?.remove();
  }

  private cell(element: HTMLTableRowElement, by: string): string {
    const place = this.columns.indexOf(by);
    return place < 0 ? "" : (element.querySelectorAll("th,td:not(.box)")[place]?.textContent ?? "").trim();
  }

  private take(element: HTMLTableRowElement): void {
    const { b: benchmark = "", f: family = "primary", u, at } = element.dataset;
    // `s/SLUG.html`.
    const slug = (element.querySelector("th a")?.getAttribute("href") ?? "").slice(2, -5);
    element.dataset["s"] = slug;
    const name = [this.cell(element, "name"), this.cell(element, "params"), this.cell(element, "variant"), this.cell(element, "place")].filter(Boolean).join(" ");
    const box = make("input", { type: "checkbox", "aria-label": `Show ${name}` });
    const tag = (kind: string, value: string) => (value ? [`${kind}:${value}`] : []);
    const row: Row = {
      element, slug, name, box,
      text: name.toLowerCase(),
      tags: [...tag("b", benchmark), ...this.cell(element, "params").split(" ").flatMap((param) => tag("p", param)),
        ...tag("v", this.cell(element, "variant")), ...tag("h", this.cell(element, "place")), ...tag("k", family)],
      changed: at !== undefined,
      unstable: u !== undefined,
    };
    element.prepend(make("td", { class: "box" }, box));
    this.rows.push(row);
    this.bySlug.set(slug, row);
  }

  private element(row: ListRow): HTMLTableRowElement {
    const cells: Record<string, () => HTMLElement> = {
      name: () => make("th", { scope: "row" }, make("a", { href: `s/${row.slug}.html` }, row.name)),
      params: () => make("td", {}, row.params),
      variant: () => make("td", {}, row.variant),
      place: () => make("td", {}, row.place),
      value: () => make("td", { class: "n" }, `${row.value} `, make("small", {}, row.unit)),
      change: () => make("td", { class: "w" }, row.change && make("span", { class: row.change.class }, `${row.change.mark} ${row.change.size} ${row.change.word}`)),
      at: () => make("td", { class: "w" }, row.change && (row.change.href ? make("a", { href: row.change.href }, row.change.version) : row.change.version)),
      "": () => make("td", { class: "w" }, row.spark ? spark(row.spark) : null, row.unstable && make("span", { class: "unsure" }, " ≈ unstable")),
    };
    const element = make("tr", {}, ...this.columns.map((by) => cells[by]!()));
    Object.assign(element.dataset, { b: row.benchmark, f: row.family });
    if (row.number !== null) element.dataset["n"] = String(row.number);
    if (row.unstable) element.dataset["u"] = "";
    if (row.change) element.dataset["at"] = String(row.change.at);
    return element;
  }

  private click(event: MouseEvent): void {
    const target = event.target as HTMLElement;
    const row = this.bySlug.get(target.closest<HTMLElement>("tr")?.dataset["s"] ?? "");
    const link = target.closest("a");
    if (!row || event.button !== 0) return;
    if (target === row.box) return this.on.choose(row.slug, true);
    // A link that is opened elsewhere, and one to a change, stay what they are.
    if (link && (event.metaKey || event.ctrlKey || event.shiftKey || !link.closest("th"))) return;
    event.preventDefault();
    this.on.choose(row.slug, event.metaKey || event.ctrlKey || event.shiftKey || target.closest("td.box") !== null);
  }

  has(slug: string): boolean {
    return this.bySlug.has(slug);
  }

  /** The series that is shown first: the first that changed, else the first. */
  first(): string | undefined {
    return (this.rows.find((row) => row.changed) ?? this.rows[0])?.slug;
  }

  /** All tags, by kind; a kind that doesn't tell rows apart isn't there. */
  tags(): [kind: string, values: string[]][] {
    return KINDS.flatMap(([letter, kind]): [string, string[]][] => {
      const all = new Set(this.rows.flatMap((row) => row.tags.filter((tag) => tag.startsWith(`${letter}:`))));
      return all.size > 1 ? [[kind, [...all].sort()]] : [];
    });
  }

  /** Shows what the state asks for; returns how many rows that are. */
  show(state: State): { shown: number; all: number } {
    const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
    const known = state.chosen.filter((slug) => this.bySlug.has(slug));
    let shown = 0;
    for (const row of this.rows) {
      const fits = words.every((word) => row.text.includes(word)) && (!state.tag || row.tags.includes(state.tag)) &&
        (!state.changed || row.changed) && (!state.unstable || row.unstable);
      row.element.hidden = !fits;
      shown += Number(fits);
      const chosen = known.indexOf(row.slug);
      row.box.checked = chosen >= 0;
      row.element.classList.toggle("chosen", chosen >= 0);
      row.element.style.setProperty("--tone", chosen >= 0 ? `var(--t${chosen % 6})` : "");
    }
    this.sort(state.sort);
    return { shown, all: this.rows.length };
  }

  private sorted = "";

  private sort(order: string): void {
    const by = order.replace(/^-/, "");
    for (const [place, column] of this.columns.entries()) {
      const head = this.table.tHead!.rows[0]!.cells[place + 1]!;
      if (column && column === by) head.setAttribute("aria-sort", order.startsWith("-") ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    if (order === this.sorted) return;
    this.sorted = order;
    const key = (row: Row): number | string => {
      if (by === "value") return Number(row.element.dataset["n"] ?? NaN);
      if (by === "at") return Number(row.element.dataset["at"] ?? NaN);
      if (by === "change") return parseFloat(this.cell(row.element, by).replace(/^[^−+\d]*/, "").replace("−", "-"));
      return this.cell(row.element, by);
    };
    const rows = this.rows.map((row, place) => ({ row, place, key: key(row) }));
    const sign = order.startsWith("-") ? -1 : 1;
    rows.sort((a, b) => {
      if (!order) return a.place - b.place;
      if (typeof a.key === "string" || typeof b.key === "string") return sign * String(a.key).localeCompare(String(b.key), "en", { numeric: true });
      // What has none is last either way.
      if (Number.isNaN(a.key) || Number.isNaN(b.key)) return Number(Number.isNaN(a.key)) - Number(Number.isNaN(b.key));
      return sign * (a.key - b.key);
    });
    this.body.append(...rows.map(({ row }) => row.element));
  }

  /** The row that is so many visible ones after another. */
  neighbour(slug: string | undefined, step: number): string | undefined {
    const visible = [...this.body.rows].filter((row) => !row.hidden).map((row) => row.dataset["s"]!);
    const place = slug === undefined ? -1 : visible.indexOf(slug);
    return visible[place < 0 ? 0 : Math.min(Math.max(place + step, 0), visible.length - 1)];
  }

  reveal(slug: string): void {
    this.bySlug.get(slug)?.element.scrollIntoView({ block: "nearest" });
  }
}

function spark(path: string): Element {
  const namespace = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(namespace, "svg");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(namespace, "path");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}
