// A published site of histories in a real browser: from the index down to a raw log, with and without scripts, and
// nothing that was written by others acts.
//
// BACKSIGHT_SITE names the site's folder: what `cargo run -p backsight-site --example sample_history -- STORE SITE`
// writes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

import { LIMIT, open } from "./browser.mjs";

const site = process.env.BACKSIGHT_SITE;
assert.ok(site, "BACKSIGHT_SITE must name a published site");
const index = pathToFileURL(`${site}/index.html`).href;

/** The index, open. */
const opened = (options) => open(index, options);

const heading = (page) => page.locator("h1").innerText();

/** From the index to a raw log, by clicks. */
async function walk(page) {
  const titles = [];
  const arrived = async () => {
    titles.push(await page.title());
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(wider, 0, `${await page.title()} is no wider than the window`);
  };
  await arrived();
  await page.locator("a.target").click();
  await arrived();
  assert.ok(await page.locator("figure.course .field").first().isVisible(), "there is a chart");
  // The change of the throughput, told as a sentence, leads to its commits.
  await page.locator("figure.course .told a").first().click();
  await arrived();
  assert.equal(await heading(page), "6.1.17 to 6.1.18");
  await page.locator(".commit > summary").last().click();
  assert.match(await page.locator(".commit").last().innerText(), /net\/core\/dev\.c/);
  assert.ok(await page.locator("#diff .del").isVisible(), "the difference is there");
  await page.locator("header a.version").last().click();
  await arrived();
  assert.equal(await heading(page), "6.1.18");
  await page.locator("details.log > summary").first().click();
  assert.match(await page.locator("details.log pre").first().innerText(), /make -j2 ARCH=um linux/);
  await page.locator("a.boot").first().click();
  await arrived();
  assert.match(await page.locator("#console pre").innerText(), /Linux version 6\.1\.18/);
  await page.locator("details.trial > summary").first().click();
  assert.match(await page.locator(".step .command").first().innerText(), /tbench 2/);
  await page.locator("a.raw").first().click();
  await page.waitForURL(/raw\/.*\.txt$/);
  assert.match(readFileSync(fileURLToPath(page.url()), "utf8"), /^Throughput 512 MB\/sec/);
  assert.equal(await page.locator("script, img").count(), 0, "a raw log is text");
  for (const title of titles) assert.match(title, /Backsight$/, "nothing took the title");
}

for (const javaScriptEnabled of [true, false]) {
  for (const [what, viewport] of [["a desk", { width: 1400, height: 900 }], ["a phone", { width: 390, height: 844 }]]) {
    const how = javaScriptEnabled ? "with" : "without";
    test(`the way from the index to a raw log is open on ${what}, ${how} scripts`, LIMIT, async () => {
      const { context, page, requests, complaints } = await opened({ javaScriptEnabled, viewport, colorScheme: "dark" });
      await walk(page);
      assert.deepEqual(complaints, []);
      assert.deepEqual(requests.filter((url) => !url.startsWith("file://")), []);
      await context.close();
    });
  }
}

/** Drags over the first chart, from and to these shares of its width. */
async function drag(page, from, to) {
  const box = await page.locator(".ground").first().boundingBox();
  const y = box.y + box.height / 3;
  await page.mouse.move(box.x + box.width * from, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * (from + to) / 2, y);
  await page.mouse.move(box.x + box.width * to, y);
  await page.mouse.up();
}

const versions = (page) => page.locator("tr[data-at]:not([hidden])").count();

test("dragging over a chart narrows charts and table, and a button shows everything again", LIMIT, async () => {
  const { context, page, complaints } = await opened();
  await page.locator("a.target").click();
  const all = await versions(page);
  const labels = await page.locator(".course .y").first().innerText();
  await drag(page, 0.5, 0.8);
  const some = await versions(page);
  assert.ok(some > 5 && some < all / 2, `${some} of ${all} versions`);
  const width = await page.locator(".field").last().evaluate((svg) => svg.viewBox.baseVal.width);
  assert.ok(width < all / 2, "the other charts are narrowed, too");
  await page.getByRole("button", { name: "Show all versions" }).click();
  assert.equal(await versions(page), all);
  assert.equal(await page.locator(".course .y").first().innerText(), labels);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a click comes closer until, between neighbours, it leads to their commits", LIMIT, async () => {
  const { context, page } = await opened();
  await page.locator("a.target").click();
  for (let clicks = 0; clicks < 8 && (await page.locator("#history").count()) > 0; clicks += 1) {
    const ground = page.locator(".ground").last();
    const { width } = await ground.boundingBox();
    await ground.click({ position: { x: width * 0.52, y: 20 } });
    await page.waitForLoadState();
  }
  assert.match(await heading(page), /^6\.1\.\d+ to 6\.1\.\d+$/);
  await context.close();
});

test("the pointer over a chart says which version and value it is at", LIMIT, async () => {
  const { context, page } = await opened();
  await page.locator("a.target").click();
  await page.locator(".ground").first().hover({ position: { x: 40, y: 50 } });
  assert.match(await page.locator(".tip").first().innerText(), /^6\.1\.\d+ +2023-01-\d\d +\d+/);
  await context.close();
});
