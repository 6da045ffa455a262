"use strict";
// Filters, sorts and opens the rows of a comparison; what is chosen is kept in the address after `#`.
(() => {
  const table = document.querySelector("table.compared");
  const tools = document.querySelector("#filters");
  if (!table || !tools) return;
  const status = tools.querySelector("[role=status]");
  const fields = {
    q: tools.querySelector("[type=search]"), show: tools.querySelector("#call"), least: tools.querySelector("#least"),
    b: tools.querySelector("#benchmark"), p: tools.querySelector("#tag"),
  };
  const heads = [...table.tHead.rows[0].cells];
  const column = (by) => heads.findIndex((head) => head.dataset.by === by);
  const text = (body, by) => body.rows[0].cells[column(by)]?.textContent ?? "";
  const rows = [...table.tBodies].map((body, place) => ({
    body, place,
    text: ["name", "params", "place"].map((by) => text(body, by)).join(" ").toLowerCase(),
    params: text(body, "params").split(" "),
  }));
  let sort = "";

  for (const { body } of rows) {
    const more = body.querySelector(".more");
    if (!more) continue;
    const details = more.querySelector("details");
    const button = Object.assign(document.createElement("button"), { type: "button", className: "open" });
    button.setAttribute("aria-label", details.querySelector("summary").textContent);
    details.querySelector("summary").hidden = true;
    const set = (open) => {
      details.open = open;
      more.hidden = !open;
      button.textContent = open ? "▾" : "▸";
      button.setAttribute("aria-expanded", String(open));
    };
    button.addEventListener("click", () => set(more.hidden));
    body.rows[0].cells[0].prepend(button, " ");
    set(false);
  }

  const isShown = (row) => {
    const { call, size, b } = row.body.dataset;
    const words = fields.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    const changed = ["worse", "better", "changed"].includes(call);
    return words.every((word) => row.text.includes(word))
      && (fields.show.value === "" ? changed : fields.show.value === "all" || fields.show.value === call)
      && (!fields.least.value || Number(size) >= Number(fields.least.value))
      && (!fields.b?.value || fields.b.value === b)
      && (!fields.p?.value || row.params.includes(fields.p.value));
  };
  const order = () => {
    const by = sort.replace(/^-/, "");
    for (const head of heads) head.removeAttribute("aria-sort");
    const at = column(by);
    if (at >= 0) heads[at].setAttribute("aria-sort", sort.startsWith("-") ? "descending" : "ascending");
    const sign = sort.startsWith("-") ? -1 : 1;
    const key = ({ body }) => {
      const cell = body.rows[0].cells[at];
      if (cell?.dataset.value === undefined) return /^(base|value|change)/.test(by) ? NaN : cell?.textContent ?? "";
      return cell.dataset.value === "" ? NaN : Number(cell.dataset.value);
    };
    const keyed = rows.map((row) => ({ row, key: at < 0 ? row.place : key(row) }));
    keyed.sort((a, b) => {
      if (typeof a.key === "string" || typeof b.key === "string") return sign * String(a.key).localeCompare(String(b.key), "en", { numeric: true });
      // What has none is last either way.
      if (Number.isNaN(a.key) || Number.isNaN(b.key)) return Number(Number.isNaN(a.key)) - Number(Number.isNaN(b.key));
      return sign * (a.key - b.key);
    });
    table.append(...keyed.map(({ row }) => row.body));
  };
  const show = () => {
    let shown = 0;
    for (const row of rows) {
      row.body.hidden = !isShown(row);
      shown += row.body.hidden ? 0 : 1;
    }
    status.textContent = shown === 0 ? `none of ${rows.length} series` : `${shown} of ${rows.length} series`;
  };
  const write = () => {
    const state = new URLSearchParams();
    for (const [name, field] of Object.entries(fields)) if (field?.value) state.set(name, field.value);
    if (sort) state.set("sort", sort);
    const hash = state.toString();
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  };
  const read = () => {
    const state = new URLSearchParams(location.hash.slice(1));
    for (const [name, field] of Object.entries(fields)) {
      if (!field) continue;
      field.value = state.get(name) ?? "";
      // A choice that isn't there any more is none.
      if (field.value === "" && field.tagName === "SELECT") field.selectedIndex = 0;
    }
    sort = state.get("sort") ?? "";
    order();
    show();
  };

  for (const field of Object.values(fields)) field?.addEventListener("input", () => { write(); show(); });
  for (const head of heads.filter((head) => head.dataset.by)) {
    const by = head.dataset.by;
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: head.textContent });
    button.addEventListener("click", () => {
      sort = sort === by ? `-${by}` : sort === `-${by}` ? "" : by;
      write();
      order();
    });
    head.replaceChildren(button);
  }
  tools.hidden = false;
  addEventListener("hashchange", read);
  read();
})();
