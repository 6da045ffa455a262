// A report page in a real browser: it asks nobody for anything, shows everything without a script, and raw outputs
// do nothing.
//
// BACKSIGHT_REPORT names the page: one that the demo wrote, or what
// `cargo run -p backsight-site --example sample_report -- FILE` writes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { LIMIT, open } from "./browser.mjs";

const report = process.env.BACKSIGHT_REPORT;
assert.ok(report, "BACKSIGHT_REPORT must name a report page");
const address = pathToFileURL(report).href;

/** The open page. */
const opened = (options) => open(address, options);

/** What a reader needs, whether or not scripts run. */
async function shows_everything(page) {
  assert.ok((await page.locator("h1").innerText()).length > 0);
  for (const part of ["measured", "machines", "plan", "trials"]) {
    assert.ok(await page.locator(`#${part} > h2`).isVisible(), `the part ${part} is there`);
  }
  const charts = page.locator("figure svg.chart");
  assert.ok((await charts.count()) > 0, "there is a chart");
  for (const chart of await charts.all()) {
    const named = await chart.evaluate((svg) =>
      svg.getAttribute("aria-labelledby").split(" ").every((id) => document.getElementById(id).textContent.length > 0));
    assert.ok(named, "the chart has a title and a description");
  }
}

test("the page asks nobody for anything and complains of nothing", LIMIT, async () => {
  const { context, page, requests, complaints } = await opened();
  await page.locator(".trial > summary").first().click();
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  assert.deepEqual(requests, [address]);
  assert.deepEqual(complaints, []);
  const reaching = await page.evaluate(() =>
    [...document.querySelectorAll("[src], link[href], object, iframe, embed, base, form")]
      .map((element) => element.outerHTML)
      .filter((html) => !html.includes('href="data:,"')));
  assert.deepEqual(reaching, []);
  await context.close();
});

test("every cell has a bar with its spread in every chart of its benchmark", LIMIT, async () => {
  const { context, page } = await opened();
  await shows_everything(page);
  const statistics = await page.locator("#measured details.fold tbody tr").count();
  assert.ok(statistics > 0);
  const bars = await page.locator("svg.chart g.bar").evaluateAll((all) => all.map((bar) => ({
    missing: bar.classList.contains("missing"),
    block: bar.querySelectorAll(".block").length,
    gap: bar.querySelectorAll(".gap").length,
    dots: bar.querySelectorAll("circle").length,
    whisker: bar.querySelectorAll(".whisker").length,
    value: bar.querySelector(".value").textContent,
    title: bar.querySelector("title").textContent,
    width: bar.querySelector(".block, .gap").getBoundingClientRect().width,
  })));
  assert.equal(bars.length, statistics, "as many bars as there are series");
  for (const bar of bars) {
    assert.ok(bar.title.length > 0);
    if (bar.missing) {
      assert.deepEqual([bar.block, bar.gap, bar.dots], [0, 1, 0]);
      assert.match(bar.value, /^missing: /);
    } else {
      assert.equal(bar.block, 1);
      assert.ok(bar.dots > 0 && bar.whisker > 0 && bar.width > 0, bar.title);
      assert.match(bar.value, /n=\d+/, "no value without its count");
    }
  }
  await context.close();
});

test("a raw output is closed at first and there after one click", LIMIT, async () => {
  const { context, page } = await opened();
  const trial = page.locator(".trial", { has: page.locator("pre.output") }).first();
  const output = trial.locator("pre.output").first();
  assert.equal(await output.isVisible(), false);
  await trial.locator("> summary").click();
  assert.equal(await output.isVisible(), true);
  assert.ok((await output.innerText()).length > 0);
  assert.equal(await page.locator(".trial[open]").count(), 1);
  await context.close();
});

test("raw outputs are text and nothing else", LIMIT, async () => {
  const { context, page } = await opened();
  const title = await page.title();
  for (const summary of await page.locator(".trial > summary").all()) await summary.click();
  const found = await page.locator("pre").evaluateAll((all) => ({
    elements: all.reduce((count, pre) => count + pre.childElementCount, 0),
    unseen: all.filter((pre) => /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/u
      .test(pre.textContent)).length,
  }));
  assert.deepEqual(found, { elements: 0, unseen: 0 });
  assert.equal(await page.title(), title, "no script of an output has run");
  assert.equal(await page.evaluate(() => document.scripts.length), 1);
  await context.close();
});

test("everything can be read with JavaScript switched off", LIMIT, async () => {
  const { context, page, requests } = await opened({ javaScriptEnabled: false });
  assert.equal(await page.locator(".tools").count(), 0, "no control that would do nothing");
  for (const part of ["measured", "machines", "plan", "trials"]) {
    assert.ok(await page.locator(`#${part} > h2`).isVisible());
  }
  assert.ok(await page.locator("svg.chart g.bar").count() > 0);
  const trial = page.locator(".trial", { has: page.locator("pre.output") }).first();
  await trial.locator("> summary").click();
  assert.equal(await trial.locator("pre.output").first().isVisible(), true);
  assert.deepEqual(requests, [address]);
  await context.close();
});

test("the script filters trials and sorts tables", LIMIT, async () => {
  const { context, page } = await opened();
  const list = page.locator(".trials").first();
  const all = await list.locator(".trial").count();
  const cell = await list.locator(".trial .cell").last().innerText();
  const words = page.getByLabel("Filter trials").first();
  await words.fill(cell);
  const left = await list.locator(".trial:visible").count();
  assert.ok(left > 0 && left <= all);
  for (const shown of await list.locator(".trial:visible .cell").allInnerTexts()) {
    for (const word of cell.split(" ")) assert.ok(shown.includes(word));
  }
  await words.fill("no such cell anywhere");
  assert.equal(await list.locator(".trial:visible").count(), 0);
  await page.locator("#measured details.fold > summary").click();
  const table = page.locator("#measured table.sortable");
  for (const [clicks, sign] of [[1, 1], [2, -1]]) {
    await table.getByRole("button", { name: "Unit" }).click();
    const column = (await table.locator("thead th").allInnerTexts()).findIndex((name) => name.startsWith("Unit"));
    const units = await table.locator(`tbody tr > :nth-child(${column + 1})`).allInnerTexts();
    const sorted = [...units].sort((a, b) => sign * a.localeCompare(b, undefined, { numeric: true }));
    assert.deepEqual(units, sorted, `after ${clicks} clicks`);
  }
  await context.close();
});

test("a link to a trial opens it", LIMIT, async () => {
  const { context, page } = await opened();
  const id = await page.locator(".trial").last().getAttribute("id");
  await page.goto(`${address}#${id}`);
  await page.locator(`#${id}[open]`).waitFor();
  await context.close();
});

for (const [name, width, scheme] of [
  ["wide", 1400, "light"], ["wide and dark", 1400, "dark"], ["a phone", 360, "light"], ["a phone in the dark", 360, "dark"],
]) {
  test(`nothing is cut off or unreadable: ${name}`, LIMIT, async () => {
    const { context, page } = await opened({ viewport: { width, height: 800 }, colorScheme: scheme });
    for (const summary of await page.locator(".trial > summary").all()) {
      if (Number(await summary.locator("span").first().innerText()) <= 3) await summary.click();
    }
    const reach = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(reach <= width, `the page is ${reach} px wide`);
    const contrast = await page.evaluate(() => {
      const luminance = (colour) => {
        const [r, g, b] = colour.match(/[\d.]+/g).slice(0, 3).map((channel) => {
          const share = channel / 255;
          return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const paper = luminance(getComputedStyle(document.body).backgroundColor);
      return ["body", ".soft", "a", ".bad", ".good", ".unsure"]
        .flatMap((selector) => [...document.querySelectorAll(selector)].slice(0, 1))
        .map((element) => {
          const ink = luminance(getComputedStyle(element).color);
          return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
        });
    });
    for (const ratio of contrast) assert.ok(ratio >= 4.5, `a contrast of ${ratio}`);
    await context.close();
  });
}
