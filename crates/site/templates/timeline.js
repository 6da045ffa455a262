"use strict";
// Charts of series below each other over one axis of time. The table of series says the rest without this.
(() => {
  const data = JSON.parse(document.getElementById("timeline-data").textContent);
  const LEFT = 62, RIGHT = 10, TONES = 6, MOST_SHOWN = 100, LEAST_SPAN = 1e-6;
  const find = (id) => document.getElementById(id);
  const make = (name, props, ...children) => {
    const element = Object.assign(document.createElement(name), props);
    element.append(...children);
    return element;
  };
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const toneOf = (trial) => colour(`--t${trial % TONES}`);
  const digits = (number) => {
    const size = Math.abs(number);
    for (const [least, prefix] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
      const unit = prefix === "k" ? 1e3 : least;
      if (size >= least) return `${Number((number / unit).toPrecision(3))} ${prefix}`;
    }
    return String(Number(number.toPrecision(4)));
  };
  const secondsText = (at) => `${Number(at.toFixed(6))} s`;

  // The whole time: all samples and phases.
  const ends = data.instants.filter((at) => at.length > 0).flatMap((at) => [at[0], at[at.length - 1]]);
  for (const trial of data.trials) for (const phase of trial.phases) if (phase.name === "run") ends.push(phase.from, phase.until);
  let first = Infinity, last = -Infinity;
  for (const end of ends) {
    first = Math.min(first, end);
    last = Math.max(last, end);
  }
  if (!(last > first)) last = first + 1;
  const view = { from: first, until: last, pointer: null, brush: null };

  const prepare = (canvas) => {
    const scale = Math.min(devicePixelRatio || 1, 2);
    const width = canvas.clientWidth, height = canvas.clientHeight;
    canvas.width = width * scale;
    canvas.height = height * scale;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    return { pen, width, height };
  };
  const xOf = (at, width) => LEFT + (at - view.from) / (view.until - view.from) * (width - LEFT - RIGHT);
  const timeAt = (x, width) => view.from + (x - LEFT) / (width - LEFT - RIGHT) * (view.until - view.from);
  const clipped = (x, width) => Math.max(LEFT, Math.min(width - RIGHT, x));
  // The first place in a rising list whose instant is at least `at`.
  const placeOf = (list, at) => {
    let low = 0, high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle] < at) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const step = (span, most) => {
    const least = span / most, power = 10 ** Math.floor(Math.log10(least));
    return [1, 2, 5, 10].map((it) => it * power).find((it) => it >= least);
  };

  const phases = (pen, width, top, bottom) => {
    data.trials.forEach((trial, number) => {
      for (const phase of trial.phases) {
        const from = xOf(phase.from, width), until = xOf(phase.until, width);
        if (phase.name === "run") {
          pen.fillStyle = toneOf(number);
          pen.globalAlpha = 0.1 / Math.sqrt(data.trials.length);
          const left = clipped(from, width);
          pen.fillRect(left, top, Math.max(clipped(until, width) - left, 0), bottom - top);
          pen.globalAlpha = 1;
        }
        for (const x of phase.name === "run" ? [from, until] : [from]) {
          if (x < LEFT || x > width - RIGHT) continue;
          pen.strokeStyle = colour("--soft");
          pen.setLineDash([2, 3]);
          pen.beginPath();
          pen.moveTo(x, top);
          pen.lineTo(x, bottom);
          pen.stroke();
          pen.setLineDash([]);
        }
      }
    });
  };

  const axis = find("axis"), said = find("said");
  const drawAxis = () => {
    const { pen, width, height } = prepare(axis);
    if (width === 0) return;
    phases(pen, width, 0, height - 18);
    pen.fillStyle = colour("--ink");
    // Names of phases, as far as they don't lie on each other.
    let free = -Infinity;
    for (const phase of data.trials[0].phases) {
      const x = clipped(xOf(phase.from, width), width);
      if (phase.until < view.from || phase.from > view.until || x + 3 < free) continue;
      pen.fillText(phase.name, x + 3, 8);
      free = x + 9 + pen.measureText(phase.name).width;
    }
    pen.strokeStyle = colour("--soft");
    pen.beginPath();
    pen.moveTo(LEFT, height - 17.5);
    pen.lineTo(width - RIGHT, height - 17.5);
    const each = step(view.until - view.from, Math.max((width - LEFT - RIGHT) / 70, 2));
    pen.textAlign = "center";
    for (let number = Math.ceil(view.from / each); number * each <= view.until; number++) {
      const x = xOf(number * each, width);
      pen.moveTo(x, height - 17.5);
      pen.lineTo(x, height - 13);
      pen.fillText(secondsText(number * each), Math.min(x, width - 20), height - 6);
    }
    pen.stroke();
    if (view.brush) {
      const [one, other] = view.brush.map((at) => clipped(xOf(at, width), width));
      pen.fillStyle = colour("--link");
      pen.globalAlpha = 0.3;
      pen.fillRect(Math.min(one, other), 0, Math.abs(other - one), height - 18);
      pen.globalAlpha = 1;
    }
  };

  class Chart {
    constructor(series) {
      this.series = series;
      this.value = make("span", { className: "soft" });
      this.canvas = make("canvas", {});
      const of = series.host ? `${series.source} on ${series.host}` : series.source;
      this.canvas.setAttribute("role", "img");
      this.canvas.setAttribute("aria-label", `${series.name}, ${of}, by time; the table has its least value, mean and greatest`);
      const unit = series.kind === "rate" ? "a second" : series.unit;
      this.element = make("figure", {}, make("figcaption", {}, make("strong", { textContent: series.name }),
        make("span", { className: "soft", textContent: unit ? `${of}, ${unit}` : of }), this.value), this.canvas);
      this.canvas.addEventListener("pointermove", (event) => point(timeAt(event.offsetX, this.canvas.clientWidth)));
      this.canvas.addEventListener("pointerleave", () => point(null));
    }
    // Places of a line's values that are seen, with one beside each end.
    seen(line) {
      const at = data.instants[line.instants];
      return [at, Math.max(placeOf(at, view.from) - 1, 0), Math.min(placeOf(at, view.until) + 1, at.length)];
    }
    draw() {
      const { pen, width, height } = prepare(this.canvas);
      if (width === 0) return;
      let least = Infinity, most = -Infinity;
      for (const line of this.series.lines) {
        const [, from, until] = this.seen(line);
        for (let place = from; place < until; place++) {
          const value = line.values[place];
          if (value === null) continue;
          least = Math.min(least, value);
          most = Math.max(most, value);
        }
      }
      // Rates are seen from nothing on.
      if (this.series.kind === "rate") least = Math.min(least, 0);
      if (!(most > least)) [least, most] = Number.isFinite(least) ? [least - 0.5, least + 0.5] : [0, 1];
      const top = 7, bottom = height - 7;
      const yOf = (value) => bottom - (value - least) / (most - least) * (bottom - top);
      phases(pen, width, 0, height);
      pen.strokeStyle = colour("--rule");
      pen.lineWidth = 1;
      pen.textAlign = "right";
      pen.fillStyle = colour("--soft");
      for (const value of [least, most]) {
        pen.beginPath();
        pen.moveTo(LEFT, yOf(value));
        pen.lineTo(width - RIGHT, yOf(value));
        pen.stroke();
        pen.fillText(digits(value), LEFT - 6, yOf(value));
      }
      pen.save();
      pen.beginPath();
      pen.rect(LEFT, 0, width - LEFT - RIGHT, height);
      pen.clip();
      pen.lineWidth = 1.3;
      for (const line of this.series.lines) {
        const [at, from, until] = this.seen(line);
        pen.strokeStyle = toneOf(line.trial);
        pen.beginPath();
        let isDown = false;
        for (let place = from; place < until; place++) {
          const value = line.values[place];
          if (value === null) {
            isDown = false;
            continue;
          }
          const x = xOf(at[place], width), y = yOf(value);
          // What isn't a state held since the instant before.
          if (this.series.kind !== "level" && place > 0) {
            const since = xOf(at[place - 1], width);
            if (isDown) pen.lineTo(since, y);
            else pen.moveTo(since, y);
            pen.lineTo(x, y);
          } else if (isDown) pen.lineTo(x, y);
          else pen.moveTo(x, y);
          isDown = true;
        }
        pen.stroke();
      }
      pen.restore();
      if (view.pointer !== null) {
        const x = xOf(view.pointer, width);
        pen.strokeStyle = colour("--ink");
        pen.lineWidth = 1;
        pen.beginPath();
        pen.moveTo(x, 0);
        pen.lineTo(x, height);
        pen.stroke();
      }
      this.say();
    }
    // The value of each line at the pointer.
    say() {
      if (view.pointer === null) {
        this.value.textContent = "";
        return;
      }
      const texts = this.series.lines.map((line) => {
        const at = data.instants[line.instants];
        const after = placeOf(at, view.pointer);
        const place = this.series.kind === "level" && at[after] !== view.pointer ? after - 1 : after;
        const value = line.values[place] ?? null;
        const text = value === null ? "–" : digits(value);
        return data.trials.length > 1 ? `${data.trials[line.trial].number}: ${text}` : text;
      });
      this.value.textContent = texts.join(" · ");
    }
  }

  const charts = new Map();
  let waits = false;
  // Once a frame, whatever asks for it.
  const draw = () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => {
      waits = false;
      drawAxis();
      for (const chart of charts.values()) chart.draw();
    });
  };
  const point = (at) => {
    view.pointer = at !== null && at >= view.from && at <= view.until ? at : null;
    if (view.pointer !== null) said.textContent = `at ${secondsText(view.pointer)}`;
    draw();
  };
  const zoom = (from, until) => {
    const span = Math.max(until - from, LEAST_SPAN);
    view.from = Math.max(Math.min(from, last - span), first);
    view.until = Math.min(view.from + span, last);
    view.pointer = null;
    said.textContent = `${secondsText(view.from)} to ${secondsText(view.until)}`;
    draw();
  };
  const whole = () => zoom(first, last);

  const timeOf = (event) => Math.max(view.from, Math.min(view.until, timeAt(event.offsetX, axis.clientWidth)));
  axis.addEventListener("pointerdown", (event) => {
    axis.setPointerCapture(event.pointerId);
    view.brush = [timeOf(event), timeOf(event)];
  });
  axis.addEventListener("pointermove", (event) => {
    if (!view.brush) return point(timeOf(event));
    view.brush[1] = timeOf(event);
    draw();
  });
  axis.addEventListener("pointerup", () => {
    const [one, other] = view.brush ?? [0, 0];
    const least = 4 * (view.until - view.from) / axis.clientWidth;
    view.brush = null;
    if (Math.abs(other - one) > least) zoom(Math.min(one, other), Math.max(one, other));
    else draw();
  });
  axis.addEventListener("pointercancel", () => {
    view.brush = null;
    draw();
  });
  axis.addEventListener("pointerleave", () => point(null));
  axis.addEventListener("dblclick", whole);
  axis.addEventListener("keydown", (event) => {
    const span = view.until - view.from, middle = (view.from + view.until) / 2;
    const done = {
      "+": () => zoom(middle - span / 4, middle + span / 4),
      "-": () => zoom(middle - span, middle + span),
      ArrowLeft: () => zoom(view.from - span / 4, view.until - span / 4),
      ArrowRight: () => zoom(view.from + span / 4, view.until + span / 4),
      Escape: whole,
    }[event.key];
    if (!done) return;
    done();
    event.preventDefault();
  });
  find("reset").addEventListener("click", whole);

  const rows = [...find("series").tBodies[0].rows];
  const boxes = rows.map((row) => row.querySelector("input"));
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const found = find("found");
  // The charts that are ticked, in the order of the table.
  const show = () => {
    let shown = 0, left = 0;
    boxes.forEach((box, number) => {
      const wanted = box.checked && shown < MOST_SHOWN;
      if (box.checked && !wanted) {
        box.checked = false;
        left++;
      }
      if (!wanted) charts.delete(number);
      else if (!charts.has(number)) charts.set(number, new Chart(data.series[number]));
      if (wanted) shown++;
    });
    const inOrder = [...charts.keys()].sort((a, b) => a - b);
    find("timeline-charts").replaceChildren(...inOrder.map((number) => charts.get(number).element));
    const matching = rows.filter((row) => !row.hidden).length;
    found.textContent = `${matching} of ${rows.length} match; ${shown} shown${left ? `, the most that can be: ${left} left out` : ""}`;
    draw();
  };
  for (const box of boxes) {
    box.disabled = false;
    box.addEventListener("change", show);
  }
  find("search").addEventListener("input", (event) => {
    const words = event.target.value.trim().toLowerCase().split(/\s+/);
    rows.forEach((row, number) => { row.hidden = !words.every((word) => texts[number].includes(word)); });
    show();
  });
  find("all").addEventListener("click", () => {
    rows.forEach((row, number) => { boxes[number].checked ||= !row.hidden; });
    show();
  });
  find("none").addEventListener("click", () => {
    for (const box of boxes) box.checked = false;
    show();
  });

  const keys = find("keys");
  const drawKeys = () => keys.replaceChildren(...data.trials.map((trial, number) => {
    const key = make("span", {});
    key.style.background = toneOf(number);
    return make("li", {}, key, `trial ${trial.number}: ${trial.cell}`);
  }));
  drawKeys();
  keys.hidden = data.trials.length < 2;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    drawKeys();
    draw();
  });
  new ResizeObserver(draw).observe(axis);
  for (const id of ["tools", "choice"]) find(id).hidden = false;
  show();
  document.documentElement.dataset.drawn = "yes";
})();
