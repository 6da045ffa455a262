// The page of a target: a list of series, and a chart of those that are chosen. The page is complete without this; every
// state of it is in the address.

import "./history.css";
import { Data, load, lowerBound, type Change, type Series, type Versions } from "./data";
import { find, make } from "./dom";
import { List } from "./list";
import { Chart, readTheme, type Shown } from "./plot";
import { fromHash, toHash, type Mode, type State } from "./state";
import { Ticks } from "./ticks";

const SIGNS: Record<Change["kind"], string> = { worse: "✗", better: "✓", changed: "○", accepted: "–", doubted: "?" };
const CLASSES: Record<Change["kind"], string> = { worse: "bad", better: "good", changed: "unsure", accepted: "soft-word", doubted: "soft-word" };
const MODES: [Mode, string, string][] = [
  ["overlay", "Overlay", "All series on one axis; needs the same unit"],
  ["ratio", "Ratio", "Each series as its difference to one version"],
  ["separate", "Separate", "A chart each"],
];
const KEYS: [string, string][] = [
  ["drag", "zoom"], ["Esc, double click", "all versions"], ["← →", "pan"], ["+ −", "zoom"], ["j k", "next, previous series"],
  [", .", "previous, next version"], ["Enter", "open it"], ["/", "search"],
];
const LEGEND: [string, string][] = [
  ["✗ ✓ ○", "a change: worse, better, neither"], ["◆", "named by a bisection"], ["│", "95 % interval; of many versions a band"],
  ["hollow", "an unstable version"], ["┊", "release"], ["×", "couldn't be measured"], ["q e n ≈", "quirk, other compiler or machine, note, other noise"],
];
const HEIGHT = 340;
const SMALL_HEIGHT = 168;
/** Fewer versions aren't zoomed into: between two there are only their commits. */
const LEAST_SEEN = 2;

class HistoryPage {
  private readonly list: List;
  private readonly data: Data;
  private versions!: Versions;
  private ticks!: Ticks;
  private state!: State;
  private chosen: Series[] = [];
  private charts: Chart[] = [];
  private view: [number, number] = [0, 1];
  private theme = readTheme();
  /** The version under the cursor. */
  private at: number | null = null;
  private hovered: Chart | null = null;
  private titlesAsked = false;
  private settling = 0;
  private drawn = 0;

  private readonly modes = make("div", { class: "modes", role: "group", "aria-label": "How series are drawn" });
  private readonly base = make("input", { type: "text", size: 12, list: "bases", "aria-label": "The version that ratios are to", onchange: () => this.setBase() });
  private readonly baseLabel = make("label", { class: "base", hidden: true }, "to ", this.base);
  private readonly all = make("button", { type: "button", hidden: true, onclick: () => this.zoom(null) }, "All versions");
  private readonly window = make("span", { class: "soft window", role: "status" });
  private readonly plots = make("div", { class: "plots", tabIndex: 0, role: "group" });
  private readonly tip = make("div", { class: "tip", hidden: true });
  private readonly gap = make("div", { class: "soft gap", hidden: true });
  private readonly legend = make("ul", { class: "legend", "aria-label": "Chosen series" });
  private readonly changes = make("ul", { class: "changes" });
  private readonly changesTitle = make("h2", {}, "Changes");
  private readonly notes = make("details", { class: "fold", hidden: true });
  private readonly spoken = make("p", { class: "unseen", role: "status" });

  private readonly search = make("input", { type: "search", placeholder: "Search series", "aria-label": "Search series", oninput: () => this.filter({ query: this.search.value }, false) });
  private readonly tag = make("select", { "aria-label": "Tag", onchange: () => this.filter({ tag: this.tag.value }) });
  private readonly changed = make("input", { type: "checkbox", onchange: () => this.filter({ changed: this.changed.checked }) });
  private readonly unstable = make("input", { type: "checkbox", onchange: () => this.filter({ unstable: this.unstable.checked }) });
  private readonly count = make("span", { class: "soft", role: "status" });

  constructor() {
    this.list = new List({
      choose: (slug, add) => this.choose(slug, add),
      sort: (by) => this.filter({ sort: this.state.sort === by ? `-${by}` : this.state.sort === `-${by}` ? "" : by }),
    });
    this.data = new Data(
      (versions) => this.start(versions),
      () => this.hover(this.hovered, this.at),
      (rows) => {
        this.list.add(rows);
        this.fillTags();
        this.apply();
      },
    );
  }

  private start(versions: Versions): void {
    if (versions.count === 0) return;
    this.versions = versions;
    this.ticks = new Ticks(versions);
    this.build();
    this.state = fromHash(location.hash, versions);
    if (this.state.chosen.length === 0) this.state.chosen = [this.list.first()].filter((slug) => slug !== undefined);
    const rest = document.querySelector<HTMLLinkElement>("link#list");
    if (rest) load(rest.href);
    addEventListener("hashchange", () => {
      if (location.hash.replace(/^#/, "") === toHash(this.state, versions)) return;
      this.state = fromHash(location.hash, versions);
      this.apply();
    });
    document.addEventListener("keydown", (event) => this.key(event));
    const recolour = () => {
      this.theme = readTheme();
      void this.draw();
    };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
    // A picture has the colours that it was drawn with; paper is white.
    addEventListener("beforeprint", () => {
      document.documentElement.dataset["print"] = "";
      this.theme = readTheme();
      for (const chart of this.charts) chart.setTheme(this.theme);
    });
    addEventListener("afterprint", () => {
      delete document.documentElement.dataset["print"];
      recolour();
    });
    new ResizeObserver(() => {
      for (const chart of this.charts) chart.resize(this.plots.clientWidth);
    }).observe(this.plots);
    this.apply();
  }

  private build(): void {
    for (const [mode, name, about] of MODES) {
      this.modes.append(make("button", { type: "button", title: about, onclick: () => this.filter({ mode: this.state.mode === mode ? null : mode }) }, name));
    }
    // Of very many versions a list to pick from helps nobody.
    const names = this.versions.releases.length > 1 ? this.versions.releases : this.versions.names.map((_, at) => at).slice(0, 200);
    const bases = make("datalist", { id: "bases" }, ...names.slice(-200).map((at) => make("option", { value: this.versions.name(at) })));
    const zoom = (factor: number, sign: string, label: string) => make("button", { type: "button", class: "square", "aria-label": label, title: label, onclick: () => this.scale(factor) }, sign);
    const terms = (of: [string, string][], kind: string) => make("dl", { class: kind }, ...of.flatMap(([key, what]) => [make("dt", {}, key), make("dd", {}, what)]));
    const keys = make("details", { class: "keys" }, make("summary", {}, "Keys and signs"), make("div", {}, terms(KEYS, "strokes"), terms(LEGEND, "signs")));
    const history = find<HTMLElement>("#history");
    history.append(
      make("div", { class: "bar" }, this.modes, this.baseLabel, bases, make("span", { class: "zoom" }, zoom(0.5, "+", "Zoom in"), zoom(2, "−", "Zoom out"), this.all), this.window, keys),
      make("div", { class: "stage" },
        make("div", { class: "pictures" }, this.plots, this.gap),
        make("aside", { "aria-label": "Chosen series" }, this.legend, this.changesTitle, this.changes, this.notes)),
      this.spoken,
    );
    this.plots.append(this.tip);
    this.plots.addEventListener("dblclick", () => this.zoom(null));
    history.hidden = false;
    const filters = find<HTMLElement>("#filters");
    filters.className = "tools";
    this.fillTags();
    filters.append(this.search, this.tag, make("label", {}, this.changed, " Changed only"), make("label", {}, this.unstable, " Unstable only"), this.count);
    filters.hidden = false;
  }

  private fillTags(): void {
    const tags = this.list.tags();
    this.tag.replaceChildren(make("option", { value: "" }, "All tags"), ...tags.map(([kind, values]) => {
      const group = make("optgroup", { label: kind });
      group.append(...values.map((value) => make("option", { value }, value.slice(2))));
      return group;
    }));
    this.tag.hidden = tags.length === 0;
  }

  // What the reader does: each changes the state, puts it into the address and shows it.

  private commit(isStep: boolean): void {
    const hash = `#${toHash(this.state, this.versions)}`;
    if (hash === location.hash) return;
    if (isStep) history.pushState(null, "", hash);
    else history.replaceState(null, "", hash);
  }

  private filter(change: Partial<State>, isStep = true): void {
    this.state = { ...this.state, ...change };
    this.commit(isStep);
    this.apply();
  }

  private choose(slug: string, add: boolean): void {
    const { chosen } = this.state;
    if (!add) return this.filter({ chosen: [slug] });
    const rest = chosen.filter((other) => other !== slug);
    this.filter({ chosen: rest.length < chosen.length ? rest : [...chosen, slug] });
  }

  private setBase(): void {
    const name = this.base.value.trim();
    const place = this.versions.names.indexOf(name);
    this.base.setCustomValidity(name === "" || place >= 0 ? "" : "There is no such version.");
    if (this.base.reportValidity()) this.filter({ base: place >= 0 ? place : null });
  }

  private zoom(range: [number, number] | null): void {
    // A pan that hasn't come to rest yet is over: it would draw everything anew under who reads on.
    clearTimeout(this.settling);
    const last = this.versions.count - 1;
    const isAll = range === null || (range[0] <= 0 && range[1] >= last);
    this.filter({ range: isAll ? null : range });
  }

  /** Shows these versions, whole ones; a width that is too small is widened. */
  private narrow(from: number, to: number): void {
    const last = this.versions.count - 1;
    let [first, end] = [Math.max(Math.ceil(from), 0), Math.min(Math.floor(to), last)];
    if (end - first + 1 < LEAST_SEEN) {
      first = Math.min(Math.max(Math.floor((from + to) / 2), 0), Math.max(last - 1, 0));
      end = Math.min(first + LEAST_SEEN - 1, last);
    }
    this.zoom([first, end]);
  }

  private scale(factor: number): void {
    const centre = this.at ?? (this.view[0] + this.view[1]) / 2;
    this.narrow(centre - (centre - this.view[0]) * factor, centre + (this.view[1] - centre) * factor);
  }

  /** Moves the view by a part of its width, at once; the address follows when it rests. */
  pan(share: number): void {
    const width = this.view[1] - this.view[0];
    const most = this.versions.count - 0.5;
    const from = Math.min(Math.max(this.view[0] + share * width, -0.5), most - width);
    this.setView([from, from + width]);
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.narrow(this.view[0], this.view[1]), 300);
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isTyping = target.matches("input:not([type=checkbox]),select,textarea");
    if (isTyping) {
      if (event.key === "Escape") target.blur();
      return;
    }
    const isScrolling = target.matches(".scroll");
    const onChart = this.plots.contains(target);
    const step = { ArrowLeft: -0.2, ArrowRight: 0.2 }[event.key];
    if (step !== undefined && !isScrolling) this.pan(step);
    else if (event.key === "+" || event.key === "=") this.scale(0.5);
    else if (event.key === "-") this.scale(2);
    else if (event.key === "Escape" || event.key === "0") this.zoom(null);
    else if (event.key === "j" || (onChart && event.key === "ArrowDown")) this.next(1);
    else if (event.key === "k" || (onChart && event.key === "ArrowUp")) this.next(-1);
    else if (event.key === "/") this.search.focus();
    else if (event.key === "." || event.key === ",") this.step(event.key === "." ? 1 : -1);
    else if (event.key === "Enter" && onChart && this.at !== null) location.href = this.versions.page(this.at);
    else return;
    event.preventDefault();
  }

  private next(step: number): void {
    const slug = this.list.neighbour(this.state.chosen.at(-1), step);
    if (slug === undefined) return;
    this.choose(slug, false);
    if (this.plots.contains(document.activeElement) || document.activeElement === document.body) this.list.reveal(slug);
  }

  /** Moves the cursor to the next version that has a value, and says it. */
  private step(by: number): void {
    const series = this.chosen[0];
    const chart = this.charts[0];
    if (!series || !chart || series.at.length === 0) return;
    const from = this.at ?? (by > 0 ? this.view[0] - 1 : this.view[1] + 1);
    const point = by > 0 ? lowerBound(series.at, Math.floor(from) + 1) : lowerBound(series.at, Math.ceil(from)) - 1;
    const at = series.at[point];
    if (at === undefined) return;
    if (at < this.view[0] || at > this.view[1]) {
      const width = this.view[1] - this.view[0];
      const left = Math.min(Math.max(at - width / 2, -0.5), this.versions.count - 0.5 - width);
      this.setView([left, left + width]);
    }
    const left = chart.plot.valToPos(at, "x");
    chart.plot.setCursor({ left, top: 20 });
    this.hover(chart, at);
    const values = this.chosen.map((it) => `${it.name} ${it.point(at) < 0 ? "no value" : `${it.text(it.point(at))} ${it.unit}`}`);
    this.spoken.textContent = [this.versions.name(at), this.versions.day(at), ...values].filter(Boolean).join(", ");
  }

  // What is shown.

  private apply(): void {
    const { state } = this;
    if (this.search.value !== state.query) this.search.value = state.query;
    this.tag.value = state.tag;
    this.changed.checked = state.changed;
    this.unstable.checked = state.unstable;
    const { shown, all } = this.list.show(state);
    this.count.textContent = shown === all ? `${all} series` : `${shown} of ${all} series`;
    void this.draw();
  }

  /** Which of the modes is drawn: series of several units have no one axis. */
  private mode(): Mode {
    const units = new Set(this.chosen.map((series) => series.unit));
    if (units.size > 1 && this.state.mode !== "ratio") return "separate";
    return this.state.mode ?? "overlay";
  }

  private baseAt(): number {
    return this.state.base ?? this.state.range?.[0] ?? 0;
  }

  /** The value that ratios are to: of the version, else of the nearest measured one after or before it. */
  private baseOf(series: Series): number {
    const point = Math.min(lowerBound(series.at, this.baseAt()), series.at.length - 1);
    return series.values[point] || 1;
  }

  private async draw(): Promise<void> {
    const turn = (this.drawn += 1);
    // An address may name series that are gone.
    const known = this.state.chosen.filter((slug) => this.list.has(slug));
    const results = await Promise.allSettled(known.map((slug) => this.data.get(slug)));
    if (turn !== this.drawn) return;
    this.chosen = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    const mode = this.mode();
    for (const [place, button] of [...this.modes.children].entries()) {
      button.setAttribute("aria-pressed", String(MODES[place]![0] === mode));
      if (MODES[place]![0] === "overlay") button.toggleAttribute("disabled", new Set(this.chosen.map((series) => series.unit)).size > 1);
    }
    this.modes.hidden = this.chosen.length === 0;
    this.baseLabel.hidden = mode !== "ratio";
    if (document.activeElement !== this.base) this.base.value = this.versions.name(this.baseAt());
    const range = this.state.range ?? [0, this.versions.count - 1];
    this.view = [range[0] - 0.5, range[1] + 0.5];
    const shown: Shown[] = this.chosen.map((series, number) => ({
      series,
      colour: this.theme.tones[number % 6]!,
      mark: Math.floor(number / 6),
      base: mode === "ratio" ? this.baseOf(series) : 1,
    }));
    for (const chart of this.charts) chart.destroy();
    const groups = mode === "separate" ? shown.map((one) => [one]) : [shown];
    this.charts = groups.map((group, number) => new Chart(this.plots, {
      shown: group,
      ratio: mode === "ratio",
      height: groups.length === 1 ? HEIGHT : SMALL_HEIGHT + (number === groups.length - 1 ? 38 : 0),
      isOne: groups.length === 1,
      names: number === groups.length - 1,
      versions: this.versions,
      ticks: this.ticks,
      theme: this.theme,
      view: this.view,
      onHover: (chart, at) => this.hover(chart, at),
      onBrush: (from, to) => this.narrow(from, to),
      onClick: (chart, x, y) => this.click(chart, x, y),
    }));
    this.plots.setAttribute("aria-label", this.chosen.length === 0 ? "No series is chosen" :
      `Chart of ${this.chosen.map((series) => series.name).join(", ")}. The changes are listed beside it, the values on the pages of the series.`);
    this.fillLegend(mode);
    this.fillChanges();
    this.showWindow();
    this.hover(null, null);
  }

  private setView(view: [number, number]): void {
    this.view = view;
    for (const chart of this.charts) chart.setView(view);
    this.showWindow();
  }

  private fillLegend(mode: Mode): void {
    this.legend.replaceChildren(...this.chosen.map((series, number) => {
      const remove = make("button", { type: "button", class: "square", title: "Leave out", "aria-label": `Leave out ${series.name}`, onclick: () => this.choose(series.slug, true) }, "×");
      const item = make("li", {},
        make("span", { class: `swatch m${Math.floor(number / 6) % 3}`, "aria-hidden": "true" }),
        make("a", { href: `s/${series.slug}.html`, title: "The page of this series" }, series.name),
        this.chosen.length > 1 && remove,
        make("small", {}, mode === "ratio" ? `ratio to ${this.versions.name(this.baseAt())} (${series.axis})` : series.axis),
        make("output", {}));
      item.style.setProperty("--tone", `var(--t${number % 6})`);
      return item;
    }));
    if (this.chosen.length === 0) this.legend.append(make("li", { class: "soft" }, "Choose a series in the list."));
  }

  private fillChanges(): void {
    const all = this.chosen.flatMap((series, number) => series.changes.map((change) => ({ series, change, number })));
    all.sort((a, b) => b.change.at - a.change.at);
    this.changesTitle.hidden = all.length === 0;
    this.changes.replaceChildren(...all.map(({ change, number }) => {
      const href = this.versions.interval(change.at);
      const sentence = href ? make("a", { href }, change.text) : change.text;
      const item = make("li", { class: CLASSES[change.kind] },
        this.chosen.length > 1 && make("span", { class: `swatch m${Math.floor(number / 6) % 3}`, "aria-hidden": "true" }),
        make("span", { class: "sign", "aria-hidden": "true" }, change.named ? "◆" : SIGNS[change.kind]), sentence);
      item.style.setProperty("--tone", `var(--t${number % 6})`);
      return item;
    }));
    const notes = this.chosen.flatMap((series) => series.notes.map((note) => (this.chosen.length > 1 ? `${series.name}: ${note}` : note)));
    this.notes.hidden = notes.length === 0;
    this.notes.replaceChildren(make("summary", {}, `Notes (${notes.length})`), make("ul", { class: "soft" }, ...notes.map((note) => make("li", {}, note))));
  }

  /** Which versions are seen, and the command for what isn't measured of them. */
  private showWindow(): void {
    const { versions } = this;
    const first = Math.max(Math.ceil(this.view[0]), 0);
    const last = Math.min(Math.floor(this.view[1]), versions.count - 1);
    const isAll = first === 0 && last === versions.count - 1;
    const days = [versions.day(first), versions.day(last)].filter(Boolean).join(" to ");
    this.all.hidden = isAll;
    this.window.textContent = `${versions.name(first)} to ${versions.name(last)}${days ? ` · ${days}` : ""} · ${isAll ? "" : `${(last - first + 1).toLocaleString("en")} of `}${versions.count.toLocaleString("en")} versions`;
    const series = this.chosen[0];
    this.gap.hidden = true;
    if (!series) return;
    const measured = lowerBound(series.at, last + 1) - lowerBound(series.at, first);
    // What doesn't build or boot can't be measured by asking again.
    let hopeless = 0;
    for (const [at, [standing]] of versions.unmeasured) hopeless += Number(at >= first && at <= last && standing !== "pending" && series.point(at) < 0);
    const missing = last - first + 1 - measured - hopeless;
    const isClose = last - first < 3;
    if (missing <= 0 && !isClose) return;
    const from = versions.name(missing > 0 ? Math.max(first - 1, 0) : first);
    const to = versions.name(missing > 0 ? Math.min(last + 1, versions.count - 1) : last);
    const why = missing > 0
      ? `${missing.toLocaleString("en")} of these versions ${missing === 1 ? "has" : "have"} no value. This measures ${missing === 1 ? "it" : "them"}: `
      : "Every commit between these versions is measured by ";
    const how = series.like === null ? `--use ${quoted(series.benchmark)} --target ${quoted(versions.target)}` : `--like ${quoted(series.like)}`;
    const command = make("code", {}, `backsight step ${how} --from ${quoted(from)} --to ${quoted(to)} --every all`);
    this.gap.replaceChildren(make("p", {}, why, command), ...(series.like === null ? [] : [this.asking(series, from, to)]));
    this.gap.hidden = false;
  }

  /** A form that puts it into the queue; shown to who has the token of the server. */
  private asking(series: Series, from: string, to: string): HTMLElement {
    const said = JSON.stringify({ target: this.versions.target, step: { series: series.slug, from, to } });
    const by = make("input", { name: "by", required: true, maxLength: 200, autocomplete: "name" });
    const form = make("form", { class: "say" }, make("label", {}, "Asked for by ", by), make("button", {}, "Put it into the queue"), make("output", {}));
    form.dataset["to"] = "queue";
    form.dataset["said"] = said;
    return form;
  }

  private hover(chart: Chart | null, at: number | null): void {
    this.at = at;
    this.hovered = chart;
    const { versions } = this;
    const outputs = [...this.legend.querySelectorAll("output")];
    for (const [number, series] of this.chosen.entries()) {
      const point = at === null ? -1 : series.point(at);
      const text = point < 0 ? (at === null ? "" : "no value") : this.valueText(series, point);
      if (outputs[number]) outputs[number].textContent = text;
    }
    if (at === null || !chart) {
      this.tip.hidden = true;
      return;
    }
    if (!this.titlesAsked) {
      this.titlesAsked = true;
      load(find<HTMLLinkElement>("link#titles").href);
    }
    const { left = -1 } = chart.plot.cursor;
    const changes = chart.changesAt(left);
    const unmeasured = versions.unmeasured.get(at);
    const line = (text: string | undefined, kind = "") => (text ? make("p", { class: kind }, text) : null);
    const values = this.chosen.map((series, number) => {
      const point = series.point(at);
      const row = make("p", { class: "value" }, make("span", { class: `swatch m${Math.floor(number / 6) % 3}` }),
        make("b", {}, point < 0 ? "no value" : this.valueText(series, point)),
        point >= 0 && make("small", {}, ` ${series.counts(point)}${series.unstable.has(at) ? ", ≈ unstable" : ""}`),
        this.chosen.length > 1 && make("small", { class: "name" }, ` ${series.name}`));
      row.style.setProperty("--tone", `var(--t${number % 6})`);
      return row;
    });
    const epochs = this.chosen.flatMap((series) => series.epochs.filter(([place]) => place === at));
    this.tip.replaceChildren(...[
      make("p", {}, make("strong", {}, versions.name(at)), make("small", {}, ` ${versions.day(at)}`)),
      line(versions.titles[at], "soft"),
      ...values,
      unmeasured && line(`${unmeasured[0]}${unmeasured[1] ? `: ${unmeasured[1]}` : ""}`, "bad"),
      line(versions.quirks.has(at) ? `q quirk: ${versions.quirks.get(at)}` : undefined, "unsure"),
      line(versions.environment.has(at) ? `e ${versions.environment.get(at)}` : undefined),
      line(versions.said.has(at) ? `n ${versions.said.get(at)}` : undefined),
      ...epochs.map(([, text]) => line(`≈ ${text}`)),
      ...changes.map((change) => line(`${change.named ? "◆" : SIGNS[change.kind]} ${change.text}`, CLASSES[change.kind])),
    ].filter((child) => child instanceof Node));
    this.tip.hidden = false;
    const plot = chart.plot.root.getBoundingClientRect();
    const around = this.plots.getBoundingClientRect();
    const over = chart.plot.over.getBoundingClientRect();
    const x = over.left - around.left + chart.plot.valToPos(at, "x");
    const width = this.tip.offsetWidth;
    const right = x + 14 + width <= around.width;
    this.tip.style.left = `${right ? x + 14 : Math.max(x - 14 - width, 0)}px`;
    this.tip.style.top = `${plot.top - around.top + 34}px`;
  }

  /** A value with its unit; of ratios the difference as well. */
  private valueText(series: Series, point: number): string {
    const value = `${series.text(point)}${series.unit ? ` ${series.unit}` : ""}`;
    if (this.mode() !== "ratio") return value;
    const percent = 100 * (series.values[point]! / this.baseOf(series) - 1);
    return `${percent < 0 ? "−" : "+"}${Math.abs(percent).toFixed(2)} % · ${value}`;
  }

  private click(chart: Chart, x: number, y: number): void {
    const change = chart.changesAt(x)[0];
    const range = change && this.versions.interval(change.at);
    const apart = chart.apart();
    // A change's line is a link; where points lie closer than a finger, a click comes closer first.
    if (range && (y < 18 * chart.shown.length + 4 || apart < 8)) location.href = range;
    else if (apart < 3) this.scaleAt(chart.plot.posToVal(x, "x"));
    else {
      const at = chart.pointAt(x, y);
      if (at !== undefined) location.href = this.versions.page(at);
      else if (range) location.href = range;
    }
  }

  private scaleAt(centre: number): void {
    const width = (this.view[1] - this.view[0]) / 4;
    this.narrow(centre - width / 2, centre + width / 2);
  }
}

/** A word as a shell reads it. */
function quoted(word: string): string {
  return /^[\w.,:=+@/~^-]+$/.test(word) && !word.startsWith("-") ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

new HistoryPage();
