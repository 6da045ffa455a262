// The page of a matrix of tests in a real browser: rows that scroll, groups that fold, filters in the address, and how fast it opens.
//
// BACKSIGHT_TESTS names the page that `cargo run -p backsight-site --example sample_tests -- FILE` writes, BACKSIGHT_MANY_TESTS one of
// 5,000 tests on 365 nights, BACKSIGHT_SITE a published site that has a page of tests.

import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { LIMIT, open } from "./browser.mjs";

const { BACKSIGHT_TESTS: few, BACKSIGHT_MANY_TESTS: many, BACKSIGHT_SITE: site } = process.env;
assert.ok(few && many && site, "BACKSIGHT_TESTS, BACKSIGHT_MANY_TESTS and BACKSIGHT_SITE must name pages");
const address = pathToFileURL(few).href;

const drawn = (page) => page.waitForFunction(() => document.documentElement.dataset.drawn === "yes");
const opened = async (options, hash = "") => {
  const it = await open(address + hash, options);
  await drawn(it.page);
  return it;
};
const found = (page) => page.locator("#found").textContent();
const lines = (page) => page.locator(".line").count();

test("the page asks nobody for anything and names of others are text", LIMIT, async () => {
  const { context, page, requests, complaints } = await opened();
  assert.deepEqual(requests, [address]);
  assert.deepEqual(complaints, []);
  assert.equal(await page.locator("main b, main img").count(), 0);
  await page.locator("#name").fill("bold");
  assert.equal(await found(page), "2 of 400 tests", "one on each host");
  assert.match(await page.locator(".line:not(.group) .name").first().textContent(), /<\/script><b>|b>␊<img/);
  assert.equal(await page.title(), "Tests of linux · Backsight");
  await context.close();
});

test("scrolling draws other rows, and never all of them", LIMIT, async () => {
  const { context, page } = await opened({}, "#grouped=no");
  assert.equal(await page.locator("#matrix").getAttribute("aria-rowcount"), "401");
  assert.ok(await lines(page) < 60);
  await page.locator("#matrix").evaluate((matrix) => { matrix.scrollTop = matrix.scrollHeight; });
  await page.waitForFunction(() => document.querySelector(".line:last-child").dataset.line === "399");
  assert.ok(await lines(page) < 60);
  await context.close();
});

test("a group folds by mouse and keyboard", LIMIT, async () => {
  const { context, page } = await opened();
  const first = page.locator(".line.group").first();
  assert.match(await first.textContent(), /kernel on alpha.*% of 200 pass/);
  const rows = () => page.locator("#matrix").getAttribute("aria-rowcount").then(Number);
  const all = await rows();
  await first.locator(".name").click();
  const folded = await rows();
  assert.ok(folded < all, `${folded} of ${all}`);
  await page.locator("#matrix").press("ArrowRight");
  assert.equal(await rows(), all);
  await page.locator("#matrix").press("Enter");
  assert.equal(await rows(), folded);
  await context.close();
});

test("what is chosen stands in the address, and the address chooses it", LIMIT, async () => {
  const { context, page } = await opened();
  await page.locator("#states [value=failing]").check();
  await page.locator("#host").selectOption("beta");
  await page.locator("#least").fill("0.01");
  const hash = new URL(page.url()).hash;
  assert.equal(hash, "#state=failing&host=beta&least=0.01");
  const said = await found(page);
  assert.notEqual(said, "400 of 400 tests");
  await context.close();
  const again = await opened({}, hash);
  assert.equal(await found(again.page), said);
  assert.ok(await again.page.locator("#states [value=failing]").isChecked());
  assert.equal(await again.page.locator("#host").inputValue(), "beta");
  await again.context.close();
});

test("a cell says its version, outcome, counts and duration, under the pointer and by keyboard", LIMIT, async () => {
  const { context, page } = await opened({}, "#grouped=no&state=failing");
  await page.locator(".line").first().locator(".cell").last().hover();
  const said = page.locator("#said");
  assert.match(await said.innerText(), /6\.1\.59 · 2025-03-01 · Merge of the branch of night 59: fail \(runs: 1 failed\) · [\d.]+ m?s on average · trial 60 of study #1/);
  assert.match(await said.innerText(), /since 6\.1\.\d+/);
  const matrix = page.locator("#matrix");
  await matrix.focus();
  await matrix.press("ArrowDown");
  await matrix.press("End");
  assert.equal(await matrix.getAttribute("aria-activedescendant"), "chosen-cell");
  assert.match(await page.locator("#chosen-cell").getAttribute("aria-label"), /6\.1\.59/);
  await matrix.press("Escape");
  assert.equal(await page.locator("#chosen-cell").count(), 0);
  await context.close();
});

test("on a published site heads lead to versions, cells to trials, and the index leads to the tests", LIMIT, async () => {
  const { context, page, complaints } = await open(pathToFileURL(`${site}/index.html`).href);
  await page.locator("a.tests").first().click();
  await page.waitForURL(/tests\.html$/);
  await drawn(page);
  const tests = page.url();
  await page.locator(".line:not(.group) a.cell").last().click();
  await page.waitForURL(/boot-\d+\.html\#trial-\d+$/);
  // The fold of the trial that the cell leads to is open.
  assert.ok(await page.locator("details.trial:target").evaluate((fold) => fold.open));
  assert.ok(await page.locator("h1").isVisible());
  await page.goto(tests);
  await page.locator("a.column").last().click();
  await page.waitForURL(/\/v\/[^/]+\.html$/);
  await page.goto(`${tests}#grouped=no&state=failing`);
  await drawn(page);
  await page.locator(".line .name").first().click();
  await page.locator("#said").getByText("commits between").click();
  await page.waitForURL(/\/compare\/[^/]+\.html$/);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("nothing is wider than the window, on a desk, on a phone, in the dark, without scripts", LIMIT, async () => {
  for (const options of [{}, { colorScheme: "dark" }, { viewport: { width: 400, height: 800 } }]) {
    for (const javaScriptEnabled of [true, false]) {
      const { context, page } = await open(address, { ...options, javaScriptEnabled });
      const [wide, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(wide <= window, `${wide} of ${window}`);
      if (!javaScriptEnabled) assert.equal(await page.locator("#without-script tbody tr:visible").count(), 200);
      await context.close();
    }
  }
});

// Five times, as the machine has other work too; the figure is the median from the navigation to the first rows.
test("5,000 tests on 365 nights open within a second and take less than 3 MB", LIMIT, async (t) => {
  assert.ok(statSync(many).size < 3e6, `${statSync(many).size} bytes`);
  const times = [];
  for (let turn = 0; turn < 5; turn += 1) {
    const { context, page } = await open(pathToFileURL(many).href);
    await drawn(page);
    times.push(await page.evaluate(() => performance.getEntriesByName("first rows")[0].startTime));
    await context.close();
  }
  times.sort((one, other) => one - other);
  t.diagnostic(`${statSync(many).size} bytes; first rows after ${times.map((it) => Math.round(it)).join(", ")} ms`);
  assert.ok(times[2] < 1000, `${times} ms`);
});

test("failures that say the same are told, and a click shows them alone", LIMIT, async () => {
  const { context, page } = await opened();
  const cluster = page.locator(".same li").first();
  const [tests] = (await cluster.innerText()).match(/^\d+/);
  await cluster.locator("a").click();
  await page.waitForFunction((tests) => document.getElementById("found").textContent === `${tests} of 400 tests`, tests);
  await page.locator("#any-message").click();
  assert.equal(await found(page), "400 of 400 tests");
  assert.match(await page.locator("section[aria-labelledby=slower-h]").innerText(), /\+4\d\.\d % \[\+4\d\.\d, \+5\d\.\d\]|\+5\d\.\d % \[\+[45]\d\.\d, \+5\d\.\d\]/);
  await context.close();
});
