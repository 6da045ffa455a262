// The page of a profile in a real browser: its graphs, its search, its table, by mouse and by keyboard.
//
// BACKSIGHT_PROFILE names the page that `cargo run -p backsight-site --example sample_profile -- FILE` writes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { LIMIT, open } from "./browser.mjs";

const profile = process.env.BACKSIGHT_PROFILE;
assert.ok(profile, "BACKSIGHT_PROFILE must name the page of a profile");
const address = pathToFileURL(profile).href;
const DRAWN = () => document.documentElement.dataset.drawn === "yes";
/** A page of 10,000 stacks is there and drawn within this many milliseconds. */
const SOON = 1000;

const opened = async (options) => {
  const it = await open(address, options);
  await it.page.waitForFunction(DRAWN);
  return it;
};
/** The colour of a point of a canvas, as red, green and blue. */
const colour = (page, id, x, y) => page.evaluate(([id, x, y]) => {
  const canvas = document.getElementById(id);
  const scale = canvas.width / canvas.clientWidth;
  return [...canvas.getContext("2d").getImageData(x * scale, y * scale, 1, 1).data.slice(0, 3)];
}, [id, x, y]);
const row = (page, name) => page.locator("#functions tbody tr").filter({ hasText: name }).first();

test("the page asks nobody for anything, complains of nothing and is soon there", LIMIT, async () => {
  const { context, page, requests, complaints } = await opened();
  assert.deepEqual(requests, [address]);
  assert.deepEqual(complaints, []);
  const took = [];
  while (took.length < 3) {
    await page.reload();
    await page.waitForFunction(DRAWN);
    took.push(await page.evaluate(() => performance.getEntriesByType("navigation")[0].domComplete));
  }
  // The machine may do other things meanwhile: the quickest counts.
  assert.ok(Math.min(...took) <= SOON, `drawn after ${took.map(Math.round).join(", ")} ms`);
  await context.close();
});

test("changes are said, in the table and on the graph", LIMIT, async () => {
  const { context, page } = await opened();
  const changes = await page.locator("#functions tr.changed").evaluateAll((all) =>
    all.map((row) => [row.cells[0].textContent, row.cells[2].textContent]));
  for (const expected of [["grown", "grew"], ["removed", "disappeared"], ["added", "appeared"]]) {
    assert.ok(changes.some((change) => change.join() === expected.join()), `${expected} of ${changes.join("; ")}`);
  }
  assert.ok(await page.locator("#gone").isVisible(), "what only the base has is a graph of its own");
  await row(page, "grown").locator("button").click();
  assert.equal(await page.locator("#around-name").textContent(), "grown");
  const [red, , blue] = await colour(page, "callees-graph", 200, 2);
  assert.ok(red > blue + 60, "what grew is in the colour of more");
  const [r, g, b] = await colour(page, "graph", 300, 2);
  assert.ok(Math.max(r, g, b) - Math.min(r, g, b) < 20, "what isn't called changed is grey");
  await context.close();
});

test("a click zooms, the pointer and the keyboard say what is there", LIMIT, async () => {
  const { context, page } = await opened();
  const graph = page.locator("#graph");
  await graph.hover({ position: { x: 200, y: 27 } });
  assert.match(await page.locator("#tip").innerText(), /^main[\s\S]*here: 100 %, base 100 %[\s\S]*function, total: 100 %/);
  await graph.click({ position: { x: 5, y: 45 } });
  const zoomed = await page.locator("#said").textContent();
  assert.match(zoomed, /^grown {2}\(<server>\); here: .*; grew: called a change$/);
  await graph.press("Escape");
  assert.match(await page.locator("#said").textContent(), /^main /);
  await graph.press("ArrowDown");
  const largest = await page.locator("#said").textContent();
  await graph.press("ArrowRight");
  const next = await page.locator("#said").textContent();
  assert.notEqual(next, largest);
  await graph.press("ArrowUp");
  assert.match(await page.locator("#said").textContent(), /^main /);
  await context.close();
});

test("a search says how much matches and leaves the rows that match", LIMIT, async () => {
  const { context, page } = await opened();
  await page.keyboard.press("/");
  await page.keyboard.type("GROWN");
  assert.match(await page.locator("#found").textContent(), /^[\d.]+ % of all samples/);
  assert.equal(await page.locator("#functions tbody tr:visible").count(), 1);
  await context.close();
});

test("graphs turn upside down and count samples a trial", LIMIT, async () => {
  const { context, page } = await opened();
  const before = await colour(page, "graph", 300, 2);
  for (const name of ["flame", "absolute"]) {
    await page.locator(`#${name}`).click();
    assert.equal(await page.locator(`#${name}`).getAttribute("aria-pressed"), "true");
  }
  const height = await page.locator("#graph").evaluate((canvas) => canvas.clientHeight);
  assert.deepEqual(await colour(page, "graph", 300, height - 16), before);
  await page.locator("#graph").hover({ position: { x: 200, y: height - 10 } });
  assert.match(await page.locator("#tip").innerText(), /here: \d+ samples a trial/);
  await context.close();
});

test("the table sorts by every column", LIMIT, async () => {
  const { context, page } = await opened();
  const heading = page.locator("#functions thead button").nth(5);
  await heading.click();
  const totals = await page.locator("#functions tbody tr td:nth-child(6)").evaluateAll((all) => all.map((cell) => Number(cell.dataset.value)));
  assert.ok(totals.length > 10);
  assert.deepEqual(totals, [...totals].sort((a, b) => b - a));
  await context.close();
});

test("nothing is wider than the window, in the dark, on a phone, without scripts", LIMIT, async () => {
  for (const options of [
    { colorScheme: "dark" }, { viewport: { width: 400, height: 800 } }, { viewport: { width: 400, height: 800 }, colorScheme: "dark" },
  ]) {
    const { context, page } = await opened(options);
    const [wide, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(wide <= window, `${wide} of ${window}`);
    await context.close();
  }
  const { context, page } = await open(address, { javaScriptEnabled: false });
  assert.ok(await row(page, "grown").isVisible(), "the table needs no script");
  await context.close();
});
