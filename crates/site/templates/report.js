"use strict";
// Comfort only: the page says everything without this.
(() => {
  const make = (name, props, ...children) => {
    const element = Object.assign(document.createElement(name), props);
    element.append(...children);
    return element;
  };

  const key = (row, column) => {
    const cell = row.cells[column];
    const value = cell.dataset.value ?? cell.textContent.trim();
    const number = Number(value);
    return value !== "" && Number.isFinite(number) ? number : value;
  };
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b
      : typeof a === typeof b ? String(a).localeCompare(String(b), undefined, { numeric: true })
        : typeof a === "number" ? -1 : 1;

  const sortable = (table) => {
    const body = table.tBodies[0];
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if (!head.textContent.trim()) return;
      const button = make("button", { type: "button", title: "Sort by this column" }, ...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const descending = head.getAttribute("aria-sort") === "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        // Headings of groups make no sense in another order.
        for (const row of body.querySelectorAll("tr.head")) row.hidden = true;
        for (const part of body.querySelectorAll(".within")) part.hidden = false;
        const rows = [...body.rows].filter((row) => !row.matches(".head, .total"));
        const last = [...body.querySelectorAll(".total")];
        rows.sort((a, b) => compare(key(a, column), key(b, column)) * (descending ? -1 : 1));
        body.append(...rows, ...last);
      });
    });
  };
  const dress = () => {
    for (const table of document.querySelectorAll("table.sortable:not([data-dressed])")) {
      table.dataset.dressed = "";
      sortable(table);
    }
  };
  dress();
  // Newer tables have taken the place of others.
  document.addEventListener("edition", dress);

  for (const list of document.querySelectorAll(".trials")) {
    const trials = [...list.querySelectorAll(".trial")];
    const words = make("input", { type: "search", placeholder: "Filter by cell or reason", ariaLabel: "Filter trials" });
    const outcome = make("select", { ariaLabel: "Outcome" },
      make("option", { value: "" }, "all outcomes"),
      make("option", { value: "measured" }, "measured"),
      make("option", { value: "failed" }, "failed"));
    const count = make("span", { className: "soft", role: "status" });
    const fold = make("button", { type: "button" }, "Close all");
    const filter = () => {
      const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const trial of trials) {
        const text = trial.querySelector("summary").textContent.toLowerCase();
        trial.hidden = !(wanted.every((word) => text.includes(word))
          && (!outcome.value || trial.dataset.outcome === outcome.value));
        shown += trial.hidden ? 0 : 1;
      }
      count.textContent = shown === trials.length ? "" : `${shown} of ${trials.length} trials`;
    };
    words.addEventListener("input", filter);
    outcome.addEventListener("change", filter);
    fold.addEventListener("click", () => { for (const trial of trials) trial.open = false; });
    list.before(make("div", { className: "tools" }, words, outcome, fold, count));
  }

  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const details = target?.closest("details");
    if (details) details.open = true;
  };
  addEventListener("hashchange", open);
  open();

  for (const pre of document.querySelectorAll("pre.output, pre.document")) {
    const copy = make("button", { type: "button", className: "copy", title: "Copy this text" }, "copy");
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(pre.textContent);
        copy.textContent = "copied";
      } catch {
        getSelection().selectAllChildren(pre);
        copy.textContent = "selected";
      }
    });
    const before = pre.previousElementSibling;
    if (before?.matches("p")) before.append(" ", copy);
    else pre.before(make("p", { className: "stream" }, copy));
  }
})();
