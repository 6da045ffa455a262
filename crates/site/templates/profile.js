"use strict";
// Flame graphs of calls, and a table that sorts. The table says everything without this.
(() => {
  const data = JSON.parse(document.getElementById("profile-data").textContent);
  const ROW = 18, MOST_ROWS = 600, LEAST_WIDTH = 0.6, ROOT = 0;
  const BASE = 0, NEW = 1;
  const find = (id) => document.getElementById(id);
  const style = getComputedStyle(document.documentElement);
  const state = { flame: false, absolute: false, search: "" };
  const graphs = [];
  const make = (name, props, ...children) => {
    const element = Object.assign(document.createElement(name), props);
    element.append(...children);
    return element;
  };

  // A tree: node 0 has all others; callers come before what they call. Weights are with everything below.
  const tree = (functions, parents, base, fresh, gone = false) => {
    const count = functions.length;
    // Callees of a node, heaviest first: `called` from `first[node]` to `first[node + 1]`. A list a node would take most of the start.
    const first = new Uint32Array(count + 1), called = new Uint32Array(Math.max(count - 1, 0));
    for (let node = 1; node < count; node++) first[parents[node] + 1]++;
    for (let node = 0; node < count; node++) first[node + 1] += first[node];
    const next = first.slice();
    for (let node = 1; node < count; node++) called[next[parents[node]]++] = node;
    const made = { functions, parents, weights: [base, fresh], gone, sorted: new Uint8Array(count) };
    made.children = (node) => {
      const list = called.subarray(first[node], first[node + 1]);
      if (list.length > 1 && !made.sorted[node]) list.sort((a, b) => size(made, b) - size(made, a));
      made.sorted[node] = 1;
      return list;
    };
    return made;
  };
  // What is as wide as it is heavy: the new side, or the base where the tree is of what has gone.
  const size = (it, node) => it.gone ? it.weights[BASE][node] : it.weights[NEW][node];
  const nameOf = (fn) => fn < 0 ? "all" : data.functions[fn].name;

  const percentOf = (weight, side) => data.totals[side] > 0 ? 100 * weight / data.totals[side] : 0;
  const perTrial = (weight, side) => data.trials[side] > 0 ? weight / data.trials[side] : 0;
  const measure = (weight, side) => state.absolute ? perTrial(weight, side) : percentOf(weight, side);
  const digits = (number) => Math.abs(number) >= 100 ? number.toFixed(0) : Number(number.toPrecision(3)).toString();
  const signed = (number) => `${number > 0 ? "+" : number < 0 ? "−" : ""}${digits(Math.abs(number))}`;
  const unit = () => state.absolute ? ` ${data.unit} a trial` : " %";
  const difference = (it, node) => measure(it.weights[NEW][node], NEW) - measure(it.weights[BASE][node], BASE);
  const isChanged = (fn) => fn >= 0 && data.functions[fn].changed;
  const matches = (fn) => state.search !== "" && fn >= 0 && data.functions[fn].lower.includes(state.search);
  for (const it of data.functions) it.lower = `${it.name} ${it.module}`.toLowerCase();

  // Colours as a canvas takes them quickest: mixed once.
  const swatch = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  const solid = (colour) => {
    swatch.fillStyle = colour;
    swatch.fillRect(0, 0, 1, 1);
    return `rgb(${[...swatch.getImageData(0, 0, 1, 1).data.slice(0, 3)].join(",")})`;
  };
  const mix = (ratio, from, to) => solid(`color-mix(in srgb, ${to} ${Math.round(100 * ratio)}%, ${from})`);
  const colours = () => {
    const read = (name) => style.getPropertyValue(name).trim();
    return { ink: read("--ink"), paper: read("--paper"), grey: read("--box"), more: read("--more"), less: read("--less"), hit: read("--found"),
      tones: [0, 1, 2, 3, 4, 5].map((tone) => mix(0.55, read("--paper"), read(`--t${tone}`))) };
  };
  let palette = colours();
  const shades = new Map();
  const colourOf = (it, node) => {
    const fn = it.functions[node];
    if (matches(fn)) return palette.hit;
    if (fn < 0) return palette.grey;
    if (!data.base) return palette.tones[data.functions[fn].tone];
    if (!isChanged(fn)) return palette.grey;
    const points = difference(it, node);
    const scale = state.absolute ? perTrial(data.totals[NEW], NEW) / 100 : 1;
    // From a tenth of a point to ten points, by the logarithm: eight shades each way.
    const step = Math.round(Math.max(0, Math.min(1, (Math.log10(Math.abs(points / scale) + 1e-9) + 1) / 2)) * 8);
    const key = points > 0 ? step : -1 - step;
    if (!shades.has(key)) shades.set(key, mix(0.25 + step / 8 * 0.75, palette.grey, points > 0 ? palette.more : palette.less));
    return shades.get(key);
  };

  const describe = (it, node) => {
    const fn = it.functions[node];
    const found = fn >= 0 ? data.functions[fn] : null;
    const lines = [found ? `${found.name}  (${found.module})` : "all samples"];
    const weight = (side) => `${digits(measure(it.weights[side][node], side))}${unit()}`;
    lines.push(data.base ? `here: ${weight(NEW)}, base ${weight(BASE)}, difference ${signed(difference(it, node))}` : `here: ${weight(NEW)}`);
    if (found) {
      lines.push(`function, self: ${found.itself}`, `function, total: ${found.total}`);
      if (data.base) lines.push(found.changed ? `${found.change}: called a change` : "not called a change");
    }
    return lines;
  };

  const tip = find("tip");
  const said = find("said");

  class Graph {
    constructor(canvas, it, onPick) {
      Object.assign(this, { canvas, it, onPick, zoom: ROOT, selected: ROOT, boxes: [] });
      graphs.push(this);
      canvas.addEventListener("mousemove", (event) => this.hover(event));
      canvas.addEventListener("mouseleave", () => { tip.hidden = true; });
      canvas.addEventListener("click", (event) => {
        const node = this.at(event);
        if (node !== undefined) this.pick(node);
      });
      canvas.addEventListener("keydown", (event) => this.key(event));
      canvas.addEventListener("focus", () => this.draw());
      canvas.addEventListener("blur", () => this.draw());
      new ResizeObserver(() => this.draw()).observe(canvas.parentElement);
    }
    show(it) {
      this.it = it;
      this.zoom = this.selected = ROOT;
      this.draw();
    }
    pick(node) {
      this.zoom = this.selected = node;
      this.draw();
      said.textContent = describe(this.it, node).join("; ");
      this.onPick?.(this.it.functions[node]);
    }
    draw() {
      const { canvas, it } = this;
      const width = canvas.parentElement.clientWidth;
      if (width === 0 || it.functions.length === 0) return;
      this.boxes = [];
      const above = [];
      for (let node = this.zoom; node !== ROOT; node = it.parents[node]) above.push(it.parents[node]);
      above.reverse();
      above.forEach((node, row) => this.boxes.push({ node, x: 0, width, row, above: true }));
      const waiting = [[this.zoom, 0, width, above.length]];
      let rows = 1;
      while (waiting.length > 0) {
        const [node, x, room, row] = waiting.pop();
        this.boxes.push({ node, x, width: room, row });
        rows = Math.max(rows, row + 1);
        if (row + 1 >= MOST_ROWS) continue;
        const whole = size(it, node);
        let at = x;
        for (const child of it.children(node)) {
          const share = whole > 0 ? room * size(it, child) / whole : 0;
          if (share < LEAST_WIDTH) continue;
          waiting.push([child, at, share, row + 1]);
          at += share;
        }
      }
      const scale = Math.min(devicePixelRatio || 1, 2);
      canvas.width = width * scale;
      canvas.height = rows * ROW * scale;
      canvas.style.height = `${rows * ROW}px`;
      const pen = canvas.getContext("2d");
      pen.scale(scale, scale);
      pen.font = "11px system-ui, sans-serif";
      pen.textBaseline = "middle";
      for (const box of this.boxes) {
        box.y = (state.flame ? rows - 1 - box.row : box.row) * ROW;
        pen.globalAlpha = box.above ? 0.6 : 1;
        pen.fillStyle = colourOf(it, box.node);
        pen.fillRect(box.x, box.y, Math.max(box.width - 0.6, 0.4), ROW - 1);
        if (box.width > 34) {
          const fn = it.functions[box.node];
          const room = Math.floor((box.width - 8) / 5.9);
          const name = nameOf(fn);
          pen.fillStyle = palette.ink;
          pen.fillText(name.length > room ? `${name.slice(0, Math.max(room - 1, 1))}…` : name, box.x + 4, box.y + ROW / 2, box.width - 6);
        }
        if (box.node === this.selected && document.activeElement === canvas) {
          pen.strokeStyle = palette.ink;
          pen.lineWidth = 2;
          pen.strokeRect(box.x + 1, box.y + 1, Math.max(box.width - 2, 1), ROW - 3);
        }
      }
      pen.globalAlpha = 1;
    }
    at(event) {
      const place = this.canvas.getBoundingClientRect();
      const x = event.clientX - place.left, y = event.clientY - place.top;
      return this.boxes.find((box) => y >= box.y && y < box.y + ROW && x >= box.x && x < box.x + box.width)?.node;
    }
    hover(event) {
      const node = this.at(event);
      tip.hidden = node === undefined;
      if (tip.hidden) return;
      tip.replaceChildren(...describe(this.it, node).map((line) => make("div", {}, line)));
      const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
      const top = event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18;
      tip.style.left = `${Math.max(left, 4)}px`;
      tip.style.top = `${top}px`;
    }
    key(event) {
      const { it, selected } = this;
      const beside = it.children(it.parents[selected]);
      const place = beside.indexOf(selected);
      const up = state.flame ? "ArrowDown" : "ArrowUp", down = state.flame ? "ArrowUp" : "ArrowDown";
      const to = {
        [up]: selected === ROOT ? undefined : it.parents[selected],
        [down]: it.children(selected)[0],
        ArrowLeft: selected === ROOT ? undefined : beside[place - 1],
        ArrowRight: selected === ROOT ? undefined : beside[place + 1],
        Home: ROOT,
      }[event.key];
      if (event.key === "Enter" || event.key === " ") this.pick(selected);
      else if (event.key === "Escape" || event.key === "Backspace") this.pick(it.parents[this.zoom]);
      else if (to !== undefined) {
        this.selected = to;
        // What isn't seen at this zoom is zoomed to.
        if (!this.boxes.some((box) => box.node === to)) this.zoom = it.parents[to];
        this.draw();
        said.textContent = describe(it, to).join("; ");
      } else return;
      event.preventDefault();
    }
  }

  const whole = tree(data.nodes.functions, data.nodes.parents, data.nodes.base, data.nodes.fresh);

  // What has samples on the base's side only: its topmost calls, side by side.
  const goneFrom = (it) => {
    const functions = [-1], parents = [0], base = [0], fresh = [0];
    const place = new Map();
    for (let node = 1; node < it.functions.length; node++) {
      if (it.weights[NEW][node] > 0 || it.weights[BASE][node] === 0) continue;
      const parent = place.get(it.parents[node]) ?? ROOT;
      place.set(node, functions.length);
      functions.push(it.functions[node]);
      parents.push(parent);
      base.push(it.weights[BASE][node]);
      fresh.push(0);
      if (parent === ROOT) base[ROOT] += it.weights[BASE][node];
    }
    return tree(functions, parents, base, fresh, true);
  };

  // Callers or callees of a function: its outermost calls, put together.
  const around = (fn, callers) => {
    const functions = [fn], parents = [0], base = [0], fresh = [0];
    const place = new Map();
    const add = (parent, of, node) => {
      const key = `${parent} ${of}`;
      let at = place.get(key);
      if (at === undefined) {
        at = functions.length;
        place.set(key, at);
        functions.push(of);
        parents.push(parent);
        base.push(0);
        fresh.push(0);
      }
      base[at] += whole.weights[BASE][node];
      fresh[at] += whole.weights[NEW][node];
      return at;
    };
    const inside = new Int32Array(whole.functions.length).fill(-1);
    for (let node = 1; node < whole.functions.length; node++) {
      const above = inside[whole.parents[node]];
      if (above >= 0) {
        inside[node] = callers ? ROOT : add(above, whole.functions[node], node);
      } else if (whole.functions[node] === fn) {
        inside[node] = ROOT;
        base[ROOT] += whole.weights[BASE][node];
        fresh[ROOT] += whole.weights[NEW][node];
        let at = ROOT;
        for (let up = whole.parents[node]; callers && up !== ROOT; up = whole.parents[up]) at = add(at, whole.functions[up], node);
      }
    }
    return tree(functions, parents, base, fresh, fresh[ROOT] === 0);
  };

  new Graph(find("graph"), whole, (fn) => sandwich(fn));
  const gone = data.base ? goneFrom(whole) : null;
  if (gone && gone.functions.length > 1) {
    find("gone").hidden = false;
    new Graph(find("gone-graph"), gone);
  }
  const empty = tree([-1], [0], [0], [0]);
  const callers = new Graph(find("callers-graph"), empty), callees = new Graph(find("callees-graph"), empty);
  function sandwich(fn) {
    if (fn < 0) return;
    find("around").hidden = false;
    find("around-name").textContent = data.functions[fn].name;
    callers.show(around(fn, true));
    callees.show(around(fn, false));
  }

  const drawAll = () => {
    shades.clear();
    for (const graph of graphs) graph.draw();
  };
  const press = (button, pressed) => button.setAttribute("aria-pressed", String(pressed));
  for (const [id, key] of [["flame", "flame"], ["absolute", "absolute"]]) {
    const button = find(id);
    button.addEventListener("click", () => {
      state[key] = !state[key];
      press(button, state[key]);
      drawAll();
    });
  }
  find("reset").addEventListener("click", () => {
    for (const graph of graphs) graph.zoom = graph.selected = ROOT;
    drawAll();
  });
  find("search").addEventListener("input", (event) => {
    state.search = event.target.value.trim().toLowerCase();
    let weight = 0;
    const covered = new Uint8Array(whole.functions.length);
    for (let node = 1; node < whole.functions.length; node++) {
      covered[node] = covered[whole.parents[node]];
      if (!covered[node] && matches(whole.functions[node])) {
        covered[node] = 1;
        weight += whole.weights[NEW][node];
      }
    }
    find("found").textContent = state.search ? `${digits(percentOf(weight, NEW))} % of all samples are in or below what matches` : "";
    for (const row of rows) row.hidden = state.search !== "" && !row.textContent.toLowerCase().includes(state.search);
    drawAll();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    palette = colours();
    drawAll();
  });
  addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement?.tagName !== "INPUT") {
      find("search").focus();
      event.preventDefault();
    }
  });

  const table = find("functions");
  const rows = [...table.tBodies[0].rows];
  for (const row of rows) {
    row.querySelector("button")?.addEventListener("click", () => {
      sandwich(Number(row.dataset.function));
      find("around").scrollIntoView({ block: "nearest" });
    });
  }
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    const button = make("button", { type: "button" }, ...heading.childNodes);
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const downward = heading.getAttribute("aria-sort") !== "descending";
      for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", downward ? "descending" : "ascending");
      const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const isNumber = rows.some((row) => row.cells[column].dataset.value !== undefined);
      const compare = isNumber ? (a, b) => Number(value(a)) - Number(value(b)) : (a, b) => value(a).localeCompare(value(b));
      table.tBodies[0].append(...rows.sort((a, b) => downward ? compare(b, a) : compare(a, b)));
    });
  });
  find("tools").hidden = false;
  document.documentElement.dataset.drawn = "yes";
})();
