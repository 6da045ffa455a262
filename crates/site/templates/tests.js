"use strict";
// The matrix of all tests: only rows and columns that are seen are drawn. The table of the worst tests is there without this.
(() => {
  const data = JSON.parse(document.getElementById("matrix-data").textContent);
  const { columns, suites, outcomes, tests } = data;
  const STANDS = ["failing", "flaky", "mended", "passing"];
  const ROW = 22, CELL = 15, NO_RESULT = 0, MOST_PARTS = 8, FEW_TESTS = 30;
  const find = (id) => document.getElementById(id);
  const make = (name, props, ...children) => {
    const element = Object.assign(document.createElement(name), props);
    element.append(...children);
    return element;
  };
  const matrix = find("matrix"), space = find("space"), pane = find("pane"), heads = find("heads"), body = find("lines"), said = find("said");
  const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
  const secondsText = (seconds) => {
    const [size, unit] = seconds >= 1 ? [seconds, "s"] : seconds >= 1e-3 ? [seconds * 1e3, "ms"] : [seconds * 1e6, "µs"];
    return `${Number(size.toPrecision(3))} ${unit}`;
  };
  const suiteText = (suite) => `${suites[suite].suite} on ${suites[suite].host}`;

  // Heads are as high as the longest name needs.
  const HEAD = Math.max(32, Math.min(110, 12 + 7 * Math.max(0, ...columns.map((column) => column.name.length))));
  heads.style.height = `${HEAD}px`;

  // What came of a test, a number for each column.
  const unpacked = new Array(tests.name.length);
  const cellsOf = (test) => {
    if (!unpacked[test]) {
      const cells = new Uint16Array(columns.length), runs = tests.cells[test];
      for (let run = 0, at = 0; run < runs.length; run += 2) {
        cells.fill(runs[run], at, at + runs[run + 1]);
        at += runs[run + 1];
      }
      unpacked[test] = cells;
    }
    return unpacked[test];
  };
  // The mean duration of a test in a column, in seconds.
  const secondsAt = (test, column) => {
    const code = data.digits.indexOf(tests.seconds[test][column] ?? " ");
    if (code < 0) return null;
    const [least, most] = tests.range[test];
    return least * (most / least) ** (code / (data.digits.length - 1));
  };
  const elsewhere = new Map(data.elsewhere.map(([test, column, trial]) => [test * columns.length + column, trial]));
  const trialOf = (test, column) => data.trials[elsewhere.get(test * columns.length + column) ?? suites[tests.suite[test]].trials[column]];

  // What is chosen: kept in the address.
  const chosen = { state: new Set(), name: "", host: "", suite: "", least: 0, grouped: true, cluster: -1 };
  const readAddress = () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    chosen.state = new Set((asked.get("state") ?? "").split(",").filter((word) => STANDS.includes(word)));
    for (const key of ["name", "host", "suite"]) chosen[key] = asked.get(key) ?? "";
    chosen.least = Math.max(Number(asked.get("least")) || 0, 0);
    chosen.grouped = asked.get("grouped") !== "no";
    const cluster = Number(asked.get("cluster") ?? -1);
    chosen.cluster = Number.isInteger(cluster) ? cluster : -1;
    for (const key of ["name", "host", "suite"]) find(key).value = chosen[key];
    find("least").value = chosen.least || "";
    find("grouped").checked = chosen.grouped;
    for (const box of find("states").querySelectorAll("input")) box.checked = chosen.state.has(box.value);
  };
  const writeAddress = () => {
    const asked = new URLSearchParams();
    if (chosen.state.size > 0) asked.set("state", [...chosen.state].join(","));
    for (const key of ["name", "host", "suite"]) if (chosen[key]) asked.set(key, chosen[key]);
    if (chosen.least > 0) asked.set("least", chosen.least);
    if (!chosen.grouped) asked.set("grouped", "no");
    if (chosen.cluster >= 0) asked.set("cluster", chosen.cluster);
    history.replaceState(null, "", asked.size > 0 ? `#${asked}` : location.pathname + location.search);
  };
  const isWanted = (test) => {
    const suite = suites[tests.suite[test]];
    return (chosen.state.size === 0 || chosen.state.has(STANDS[tests.stands[test]]))
      && (!chosen.host || suite.host === chosen.host) && (!chosen.suite || suite.suite === chosen.suite)
      && (chosen.cluster < 0 || tests.cluster[test] === chosen.cluster)
      && (chosen.least === 0 || tests.mean[test] >= chosen.least)
      && (!chosen.name || tests.name[test].toLowerCase().includes(chosen.name.toLowerCase()));
  };

  // Groups are suites and the parts of names before a slash; members stand in the order of the tests, the worst first.
  const newGroup = (name, key) => ({ name, key, members: [], groups: new Map(), tests: [], counts: [0, 0, 0, 0] });
  const groupedTests = (wanted) => {
    const top = newGroup("", "");
    for (const test of wanted) {
      const parts = tests.name[test].split("/", MOST_PARTS);
      const last = parts.length === MOST_PARTS ? MOST_PARTS : parts.length - 1;
      let group = top;
      for (const part of [suiteText(tests.suite[test]), ...parts.slice(0, last).map((it) => `${it}/`)]) {
        if (!group.groups.has(part)) {
          const next = newGroup(part, `${group.key}\n${part}`);
          group.groups.set(part, next);
          group.members.push(next);
        }
        group = group.groups.get(part);
        group.tests.push(test);
        group.counts[tests.stands[test]] += 1;
      }
      group.members.push(test);
    }
    return top;
  };
  const toggled = new Map();
  const isOpen = (group) => toggled.get(group.key) ?? (chosen.name !== "" || chosen.cluster >= 0 || group.counts[0] + group.counts[1] > 0 || group.tests.length <= FEW_TESTS);
  // What a group came to in each column: 0 nothing ran there, else one more than the number of tests that failed.
  const failuresOf = (group) => {
    if (!group.failures) {
      group.failures = new Uint32Array(columns.length);
      for (const test of group.tests) {
        const cells = cellsOf(test);
        for (let column = 0; column < cells.length; column += 1) {
          const outcome = outcomes[cells[column]];
          if (outcome.passed + outcome.failed === 0) continue;
          if (group.failures[column] === 0) group.failures[column] = 1;
          if (outcome.failed > 0) group.failures[column] += 1;
        }
      }
    }
    return group.failures;
  };

  let lines = [];
  const addLines = (top) => {
    const waiting = top.members.map((member) => ({ member, depth: 0, cut: 0 })).reverse();
    while (waiting.length > 0) {
      const { member, depth, cut } = waiting.pop();
      if (typeof member === "number") {
        lines.push({ test: member, depth, name: tests.name[member].split("/").slice(cut).join("/") || tests.name[member] });
        continue;
      }
      // A group whose only member is a group is one line with it; the suite stands alone.
      let group = member, name = member.name, parts = depth === 0 ? 0 : cut + 1;
      while (depth > 0 && group.members.length === 1 && typeof group.members[0] !== "number") {
        group = group.members[0];
        name += group.name;
        parts += 1;
      }
      lines.push({ group, depth, name });
      if (!isOpen(group)) continue;
      for (const inner of [...group.members].reverse()) waiting.push({ member: inner, depth: depth + 1, cut: parts });
    }
  };
  let nameWidth = 0, at = null, shown = 0;
  const choose = () => {
    const wanted = [];
    for (let test = 0; test < tests.name.length; test += 1) if (isWanted(test)) wanted.push(test);
    shown = wanted.length;
    lines = [];
    if (chosen.grouped) addLines(groupedTests(wanted));
    else for (const test of wanted) lines.push({ test, depth: 0, name: tests.name[test] });
    find("any-message").hidden = chosen.cluster < 0;
    find("found").textContent = `${shown.toLocaleString("en")} of ${counted(tests.name.length, "test")}`;
    if (at && at.line >= lines.length) at = null;
    size();
  };
  const size = () => {
    const width = matrix.clientWidth;
    nameWidth = Math.round(Math.min(420, Math.max(120, width * 0.4)));
    space.style.width = `${nameWidth + columns.length * CELL}px`;
    space.style.height = `${HEAD + lines.length * ROW}px`;
    matrix.style.height = `${Math.min(HEAD + lines.length * ROW + 20, Math.max(innerHeight * 0.72, HEAD + 6 * ROW))}px`;
    pane.style.width = `${matrix.clientWidth}px`;
    pane.style.height = `${matrix.clientHeight}px`;
    matrix.setAttribute("aria-rowcount", lines.length + 1);
    matrix.setAttribute("aria-colcount", columns.length + 1);
    draw();
  };

  const cellText = (line, column) => {
    if (line.group) {
      const failures = failuresOf(line.group)[column];
      return failures === 0 ? [" ", ""] : failures === 1 ? [".", ""] : [failures > 100 ? "+" : String(failures - 1), "bad"];
    }
    const kind = cellsOf(line.test)[column];
    return kind === NO_RESULT ? [" ", ""] : [outcomes[kind].letter, outcomes[kind].class];
  };
  const isChosen = (number, column) => at !== null && at.line === number && at.column === column;
  const drawName = (line, number) => {
    const name = make("span", { className: "name", title: line.name.slice(0, 400) });
    name.setAttribute("role", "rowheader");
    name.style.width = `${nameWidth}px`;
    name.style.paddingLeft = `${6 + Math.min(line.depth, 6) * 12}px`;
    if (line.group) {
      const passing = line.group.counts[2] + line.group.counts[3], all = line.group.tests.length;
      const share = passing === all ? "all" : `${(Math.floor(passing / all * 1000) / 10)} %`;
      name.append(`${isOpen(line.group) ? "▾" : "▸"} ${line.name.slice(0, 300)} `, make("small", {}, chosen.state.size > 0 || chosen.cluster >= 0 ? counted(all, "test") : `${share} of ${all.toLocaleString("en")} pass`));
    } else {
      name.append(line.name.slice(0, 300));
    }
    if (isChosen(number, -1)) mark(name, spoken(number, -1));
    return name;
  };
  const mark = (element, text) => {
    element.id = "chosen-cell";
    element.classList.add("chosen-cell");
    element.setAttribute("aria-label", text);
  };
  const drawLine = (number, first, last) => {
    const line = lines[number];
    const row = make("div", { className: line.group ? "line group" : "line" }, drawName(line, number));
    row.dataset.line = number;
    row.setAttribute("role", "row");
    row.setAttribute("aria-rowindex", number + 2);
    row.setAttribute("aria-level", line.depth + 1);
    if (line.group) row.setAttribute("aria-expanded", isOpen(line.group));
    for (let column = first; column < last; column += 1) {
      const [text, look] = cellText(line, column);
      const href = line.group || text === " " ? "" : trialOf(line.test, column)?.[2] ?? "";
      const cell = href ? make("a", { href, tabIndex: -1, draggable: false }) : document.createElement("span");
      cell.className = look ? `cell ${look}` : "cell";
      cell.dataset.column = column;
      cell.setAttribute("role", "gridcell");
      cell.textContent = text;
      if (isChosen(number, column)) mark(cell, spoken(number, column));
      row.append(cell);
    }
    return row;
  };
  const draw = () => {
    const first = Math.ceil(matrix.scrollLeft / CELL);
    const last = Math.min(columns.length, first + Math.ceil((matrix.clientWidth - nameWidth) / CELL) + 1);
    const top = Math.floor(matrix.scrollTop / ROW);
    const bottom = Math.min(lines.length, top + Math.ceil((matrix.clientHeight - HEAD) / ROW) + 1);
    const corner = make("span", { className: "corner" }, counted(shown, "test"));
    corner.style.width = `${nameWidth}px`;
    const drawn = [corner];
    for (let column = first; column < last; column += 1) {
      const { name, date, title, version } = columns[column];
      const head = make(version ? "a" : "span", { className: "column", title: [name, date, title].filter(Boolean).join("\n") }, name);
      if (version) Object.assign(head, { href: version, tabIndex: -1 });
      head.setAttribute("role", "columnheader");
      head.dataset.column = column;
      drawn.push(head);
    }
    heads.replaceChildren(...drawn);
    const rows = [];
    for (let number = top; number < bottom; number += 1) rows.push(drawLine(number, first, last));
    body.replaceChildren(...rows);
    body.style.transform = `translateY(${-(matrix.scrollTop % ROW)}px)`;
    if (find("chosen-cell")) matrix.setAttribute("aria-activedescendant", "chosen-cell");
    else matrix.removeAttribute("aria-activedescendant");
    if (!document.documentElement.dataset.drawn) performance.mark("first rows");
    document.documentElement.dataset.drawn = "yes";
  };
  let isAsked = false;
  const drawSoon = () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      draw();
    });
  };

  // What is said of a cell: pieces of text, and [text, address] for links.
  const columnPieces = (column) => {
    const { name, date, title, version } = columns[column];
    return [version ? [name, version] : name, date ? ` · ${date}` : "", title ? ` · ${title}` : ""];
  };
  const cellPieces = (test, column) => {
    const outcome = outcomes[cellsOf(test)[column]];
    if (outcome.word === "") return ["no result here"];
    const counts = [["passed", "passed"], ["failed", "failed"], ["skipped", "skipped"], ["idle", "not run"]];
    const told = counts.filter(([key]) => outcome[key] > 0).map(([key, word]) => `${outcome[key]} ${word}`).join(", ");
    const seconds = secondsAt(test, column), trial = trialOf(test, column);
    const pieces = [`${outcome.word} (runs: ${told})`, seconds === null ? "" : ` · ${secondsText(seconds)} on average`];
    if (trial) pieces.push(" · ", trial[2] ? [`trial ${trial[1]} of study #${trial[0]}`, trial[2]] : `trial ${trial[1]} of study #${trial[0]}`);
    return pieces;
  };
  const testPieces = (test) => {
    const pieces = [tests.state[test]];
    const since = tests.since[test];
    if (since >= 0) {
      const { name, version, commits } = columns[since];
      pieces.push(" since ", version ? [name, version] : name);
      if (commits) pieces.push(" (", ["commits between", commits], ")");
    }
    pieces.push(` · failed ${tests.failed[test]} of ${counted(tests.runs[test], "run")}`);
    if (tests.mean[test] !== null) pieces.push(` · ${secondsText(tests.mean[test])} on average`);
    if (tests.slower[test]) pieces.push(` · duration ${tests.slower[test]}`);
    return pieces;
  };
  const groupPieces = ({ counts }) => [STANDS.map((word, stand) => `${counts[stand].toLocaleString("en")} ${word}`).join(", ")];
  const paragraphs = (number, column) => {
    if (number < 0) return [columnPieces(column)];
    const line = lines[number];
    const parts = [[line.group ? line.name : `${tests.name[line.test]} · ${suiteText(tests.suite[line.test])}`]];
    if (column >= 0) {
      const failures = line.group ? failuresOf(line.group)[column] : 0;
      const here = line.group ? [failures === 0 ? "nothing ran here" : `${failures - 1} failed here`] : cellPieces(line.test, column);
      parts.push([...columnPieces(column), ": ", ...here]);
    }
    parts.push(line.group ? groupPieces(line.group) : testPieces(line.test));
    if (!line.group && tests.message[line.test]) parts.push([tests.message[line.test]]);
    return parts;
  };
  const spoken = (number, column) => paragraphs(number, column)
    .map((pieces) => pieces.map((piece) => typeof piece === "string" ? piece : piece[0]).join("")).join("; ").slice(0, 1000);
  const say = (number, column) => said.replaceChildren(...paragraphs(number, column).map((pieces) =>
    make("p", {}, ...pieces.map((piece) => typeof piece === "string" ? piece : make("a", { href: piece[1] }, piece[0])))));
  const sayChosen = () => at ? say(at.line, at.column) : said.replaceChildren();

  const placeOf = (target) => {
    const row = target.closest?.("[data-line]"), cell = target.closest?.("[data-column]");
    if (!row && !cell) return null;
    return { line: row ? Number(row.dataset.line) : -1, column: cell ? Number(cell.dataset.column) : -1 };
  };
  const toggle = (group) => {
    toggled.set(group.key, !isOpen(group));
    choose();
    sayChosen();
  };
  const reveal = () => {
    const top = at.line * ROW, room = matrix.clientHeight - HEAD - ROW;
    if (top < matrix.scrollTop) matrix.scrollTop = top;
    else if (top > matrix.scrollTop + room) matrix.scrollTop = top - room;
    const left = at.column * CELL, wide = matrix.clientWidth - nameWidth - CELL;
    if (at.column < 0) return;
    if (left < matrix.scrollLeft) matrix.scrollLeft = left;
    else if (left > matrix.scrollLeft + wide) matrix.scrollLeft = left - wide;
  };
  const goTo = (line, column) => {
    if (lines.length === 0) return;
    at = { line: Math.max(0, Math.min(lines.length - 1, line)), column: Math.max(-1, Math.min(columns.length - 1, column)) };
    reveal();
    draw();
    sayChosen();
  };
  let isTouch = false;
  matrix.addEventListener("pointerdown", (event) => { isTouch = event.pointerType === "touch"; });
  matrix.addEventListener("pointermove", (event) => {
    const place = placeOf(event.target);
    if (place) say(place.line, place.column);
  });
  matrix.addEventListener("pointerleave", sayChosen);
  matrix.addEventListener("click", (event) => {
    const place = placeOf(event.target);
    if (!place) return;
    // A finger can't hover: its first touch says what is there, the second one follows the link.
    if (event.target.closest("a") && (!isTouch || isChosen(place.line, place.column))) return;
    event.preventDefault();
    if (place.line < 0) {
      say(-1, place.column);
      return;
    }
    goTo(place.line, place.column);
    if (place.column < 0 && lines[place.line].group) toggle(lines[place.line].group);
  });
  matrix.addEventListener("keydown", (event) => {
    if (event.altKey || event.metaKey) return;
    const { line, column } = at ?? { line: Math.floor(matrix.scrollTop / ROW), column: -1 };
    const page = Math.max(1, Math.floor((matrix.clientHeight - HEAD) / ROW) - 1);
    const group = lines[line]?.group;
    const steps = {
      ArrowDown: () => goTo(at ? line + 1 : line, column), ArrowUp: () => goTo(line - 1, column),
      PageDown: () => goTo(line + page, column), PageUp: () => goTo(line - page, column),
      Home: () => goTo(event.ctrlKey ? 0 : line, -1), End: () => goTo(event.ctrlKey ? lines.length - 1 : line, columns.length - 1),
      ArrowRight: () => group && column < 0 && !isOpen(group) ? toggle(group)
        : goTo(line, column < 0 ? Math.ceil(matrix.scrollLeft / CELL) : column + 1),
      ArrowLeft: () => group && column < 0 && isOpen(group) ? toggle(group) : goTo(line, column - 1),
      Enter: () => group ? toggle(group) : find("chosen-cell")?.click(),
      " ": () => group && toggle(group),
      Escape: () => {
        at = null;
        draw();
        sayChosen();
      },
    };
    if (!steps[event.key]) return;
    event.preventDefault();
    isTouch = false;
    steps[event.key]();
  });
  matrix.addEventListener("scroll", drawSoon, { passive: true });
  addEventListener("resize", size);

  const counts = [0, 0, 0, 0];
  for (const stand of tests.stands) counts[stand] += 1;
  STANDS.forEach((word, stand) => find("states").append(
    make("label", {}, make("input", { type: "checkbox", value: word, autocomplete: "off" }), ` ${word} ${counts[stand].toLocaleString("en")}`)));
  for (const key of ["host", "suite"]) {
    const names = [...new Set(suites.map((suite) => suite[key]))];
    find(key).append(make("option", { value: "" }, "all"), ...names.map((name) => make("option", { value: name }, name)));
    find(`${key}-choice`).hidden = names.length < 2;
  }
  const changed = () => {
    chosen.state = new Set([...find("states").querySelectorAll("input:checked")].map((box) => box.value));
    for (const key of ["name", "host", "suite"]) chosen[key] = find(key).value;
    chosen.least = Math.max(Number(find("least").value) || 0, 0);
    chosen.grouped = find("grouped").checked;
    writeAddress();
    at = null;
    matrix.scrollTop = 0;
    choose();
    sayChosen();
  };
  find("with-script").addEventListener("input", changed);
  find("any-message").addEventListener("click", () => {
    chosen.cluster = -1;
    changed();
  });
  addEventListener("hashchange", () => {
    readAddress();
    choose();
    if (chosen.cluster >= 0) find("with-script").scrollIntoView();
  });
  find("with-script").hidden = false;
  find("without-script").hidden = true;
  readAddress();
  choose();
  matrix.scrollLeft = matrix.scrollWidth;
  draw();
})();
