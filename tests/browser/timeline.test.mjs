// The page of a timeline in a real browser: its charts, its zoom and its choice of series, by mouse and by keyboard.
//
// BACKSIGHT_TIMELINE names the page that `cargo run -p backsight-site --example sample_timeline -- FILE` writes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { LIMIT, open } from "./browser.mjs";

const timeline = process.env.BACKSIGHT_TIMELINE;
assert.ok(timeline, "BACKSIGHT_TIMELINE must name the page of a timeline");
const address = pathToFileURL(timeline).href;

const opened = async (options) => {
  const it = await open(address, options);
  await it.page.waitForFunction(() => document.documentElement.dataset.drawn === "yes");
  return it;
};
const said = (page) => page.locator("#said").textContent();
const names = (page) => page.locator("#timeline-charts strong").allTextContents();

test("the page asks nobody for anything and names of others are text", LIMIT, async () => {
  const { context, page, requests, complaints } = await opened();
  assert.deepEqual(requests, [address]);
  assert.deepEqual(complaints, []);
  assert.equal(await page.locator("main b").count(), 0);
  assert.ok(await page.getByText("</script><b>bold</b>").first().isVisible());
  await context.close();
});

test("ten charts are there, the benchmark's own first, and a search and ticks change them", LIMIT, async () => {
  const { context, page } = await opened();
  const first = await names(page);
  assert.equal(first.length, 10);
  assert.equal(first[0], "own");
  await page.locator("#none").click();
  assert.deepEqual(await names(page), []);
  await page.locator("#search").fill("SWINGS-7 server");
  assert.equal(await page.locator("#series tbody tr:visible").count(), 1);
  await page.locator("#series tbody tr:visible input").check();
  await page.locator("#search").fill("own");
  await page.locator("#all").click();
  assert.deepEqual(await names(page), ["own", "swings-7"]);
  await context.close();
});

test("dragging on the axis zooms, the button and the keyboard go back", LIMIT, async () => {
  const { context, page } = await opened();
  const axis = page.locator("#axis");
  const box = await axis.boundingBox();
  await page.mouse.move(box.x + box.width * 0.4, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 10);
  await page.mouse.up();
  const [from, until] = (await said(page)).match(/-?[\d.]+(?= s)/g).map(Number);
  assert.ok(from > 2.5 && from < 5 && until > 5 && until < 7.5, `${from} to ${until}`);
  await page.locator("#reset").click();
  assert.equal(await said(page), "-0.5 s to 10.49 s");
  await axis.press("+");
  const [, nearer] = (await said(page)).match(/-?[\d.]+(?= s)/g).map(Number);
  assert.ok(nearer < 8, `${nearer}`);
  await axis.press("Escape");
  assert.equal(await said(page), "-0.5 s to 10.49 s");
  await context.close();
});

test("the pointer says the values of each trial, which are drawn in its colour", LIMIT, async () => {
  const { context, page } = await opened();
  const canvas = page.locator("#timeline-charts canvas").first();
  const width = await canvas.evaluate((it) => it.clientWidth);
  // 4 s: in the second of the intervals, which ends at 5 s.
  await canvas.hover({ position: { x: 62 + (4 + 0.5) / 10.99 * (width - 72), y: 40 } });
  await page.waitForFunction(() => document.querySelector("#timeline-charts figcaption span:last-child").textContent === "1: 4 · 2: 4");
  assert.equal(await page.locator("#keys li").count(), 2);
  const colours = await page.locator("#keys span").evaluateAll((all) => all.map((key) => getComputedStyle(key).backgroundColor));
  const drawn = await page.locator("#timeline-charts canvas").nth(1).evaluate((it) => {
    const { data } = it.getContext("2d").getImageData(0, 0, it.width, it.height);
    const found = new Set();
    for (let at = 0; at < data.length; at += 4) found.add(`rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})`);
    return [...found];
  });
  assert.ok(drawn.includes(colours[1]), `${colours} of ${drawn.length}`);
  assert.notEqual(colours[0], colours[1]);
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
  assert.ok(await page.locator("#series tbody tr").first().isVisible(), "the table needs no script");
  await context.close();
});
