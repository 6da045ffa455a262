"use strict";
// Comfort only: the page says everything without this. Draws nothing: a narrower view is another viewBox.
(() => {
  const courses = document.getElementById("history");
  const count = Number(courses?.dataset.count);
  const figures = [...document.querySelectorAll("figure.course")].filter((figure) => figure.querySelector(".field"));
  if (!count || figures.length === 0) return;
  const rows = [...document.querySelectorAll("tr[data-at]")];
  const whole = [-0.5, count - 0.5];
  let view = whole;

  const make = (name, props, ...children) => {
    const element = Object.assign(document.createElement(name), props);
    element.append(...children);
    return element;
  };
  const show = make("button", { type: "button", hidden: true }, "Show all versions");
  const said = make("span", { className: "soft", role: "status" });
  const bar = make("div", { className: "tools window" }, show, said);
  courses.querySelector("figure").before(bar);

  // Heights of the values, from the path of dots: what is seen fills the picture.
  const dots = figures.map((figure) => [...figure.querySelectorAll(".value")].flatMap((path) =>
    [...path.getAttribute("d").matchAll(/M(\S+) (\S+)h0/g)].map((dot) => [Number(dot[1]), Number(dot[2])])));
  const heights = (figure) => {
    if (view === whole) return [0, 100];
    const seen = dots[figures.indexOf(figure)].filter(([at]) => at >= view[0] && at <= view[1]).map((dot) => dot[1]);
    if (seen.length === 0) return [0, 100];
    const top = Math.min(...seen), bottom = Math.max(...seen), air = Math.max((bottom - top) * 0.6, 3);
    return [top - air, bottom + air];
  };
  // As the page was drawn: the greatest value is at 4, the least at 94.
  const valueAt = (figure, y) => {
    const high = Number(figure.dataset.high), low = Number(figure.dataset.low);
    return high - (y - 4) / 90 * (high - low);
  };
  const original = figures.map((figure) => [...figure.querySelectorAll(".y span")].map((label) => label.textContent));

  const draw = () => {
    const width = view[1] - view[0];
    figures.forEach((figure, number) => {
      const [top, bottom] = heights(figure);
      figure.querySelector(".field").setAttribute("viewBox", `${view[0]} ${top} ${width} ${bottom - top}`);
      [...figure.querySelectorAll(".y span")].forEach((label, place) => {
        label.textContent = view === whole ? original[number][place]
          : Number(valueAt(figure, [top, (top + bottom) / 2, bottom][place]).toPrecision(4));
      });
      const room = figure.querySelector(".x").clientWidth;
      let next = -Infinity;
      for (const name of figure.querySelectorAll(".x a")) {
        const share = (Number(name.dataset.at) - view[0]) / width;
        const at = share * room;
        name.hidden = share < 0 || share > 1 || at < next;
        name.style.left = `${100 * share}%`;
        if (!name.hidden) next = at + 12 + 8 * name.textContent.length;
      }
    });
    show.hidden = view === whole;
    for (const row of rows) row.hidden = Number(row.dataset.at) < view[0] || Number(row.dataset.at) > view[1];
    for (const fold of document.querySelectorAll("details.versions")) {
      const some = fold.querySelector("tr[data-at]:not([hidden])") !== null;
      fold.hidden = !some;
      if (some && view !== whole) fold.open = true;
    }
    const seen = rows.filter((row) => !row.hidden);
    const name = (row) => row?.querySelector(".version").textContent ?? "";
    said.textContent = view === whole ? "Drag over a chart to narrow it, or click to come closer." : `${name(seen[0])} to ${name(seen.at(-1))}: ${seen.length} of ${count} versions`;
  };
  const narrow = (from, to) => {
    const width = Math.max(to - from, 2);
    const start = Math.min(Math.max((from + to - width) / 2, whole[0]), whole[1] - Math.min(width, count));
    const end = Math.min(start + width, whole[1]);
    view = end - start >= count ? whole : [start, end];
    draw();
  };
  show.addEventListener("click", () => narrow(...whole));
  // What was folded had no width to choose names by.
  for (const fold of document.querySelectorAll("details.secondary")) fold.addEventListener("toggle", draw);

  for (const figure of figures) {
    const ground = figure.querySelector(".ground");
    const brush = make("div", { className: "brush", hidden: true });
    const hair = make("div", { className: "hair", hidden: true });
    const tip = make("div", { className: "tip", hidden: true });
    ground.append(brush, hair, tip);
    const at = (event) => {
      const box = ground.getBoundingClientRect();
      const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
      return [share, view[0] + share * (view[1] - view[0])];
    };
    let begun = null;
    ground.addEventListener("pointerdown", (event) => {
      if (event.button === 0) begun = at(event);
    });
    ground.addEventListener("dragstart", (event) => event.preventDefault());
    ground.addEventListener("pointermove", (event) => {
      const [share, x] = at(event);
      if (begun && Math.abs(share - begun[0]) > 0.01) {
        brush.hidden = false;
        brush.style.left = `${100 * Math.min(share, begun[0])}%`;
        brush.style.width = `${100 * Math.abs(share - begun[0])}%`;
      }
      const version = Math.min(Math.max(Math.round(x), 0), count - 1);
      const row = rows[version];
      const value = row.cells[3 + Number(figure.dataset.column)];
      hair.hidden = tip.hidden = false;
      const place = 100 * (version - view[0]) / (view[1] - view[0]);
      hair.style.left = `${place}%`;
      tip.textContent = [row.querySelector(".version").textContent, row.cells[1].textContent,
        figure.dataset.column === undefined && row.cells.length > 4 ? "" : (value ?? row.cells[3])?.textContent,
      ].filter(Boolean).join("  ");
      tip.style.left = place < 60 ? `calc(${place}% + .4rem)` : "";
      tip.style.right = place < 60 ? "" : `calc(${100 - place}% + .4rem)`;
    });
    const leave = () => {
      begun = null;
      brush.hidden = hair.hidden = tip.hidden = true;
    };
    ground.addEventListener("pointerleave", leave);
    ground.addEventListener("pointercancel", leave);
    ground.addEventListener("click", (event) => {
      const [share, x] = at(event);
      const from = begun;
      leave();
      if (from && Math.abs(share - from[0]) > 0.01) {
        event.preventDefault();
        narrow(Math.floor(Math.min(x, from[1])) , Math.ceil(Math.max(x, from[1])));
      } else if (!event.target.closest("a")) {
        // Between two neighbours there is nothing narrower than their commits.
        const width = view[1] - view[0];
        const next = rows.find((row) => Number(row.dataset.at) >= x && row.querySelector(".range"));
        if (width <= 4 && next) location.href = next.querySelector(".range").href;
        else narrow(x - width / 6, x + width / 6);
      }
    });
  }
  addEventListener("resize", draw);
  draw();
})();
