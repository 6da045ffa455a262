// A published site of histories in a real browser: from the index down to a raw log, with and without scripts; the chart of
// chosen series, whose state is in the address; and nothing that was written by others acts.
//
// BACKSIGHT_SITE names the site's folder: what `cargo run -p backsight-site --example sample_history -- STORE SITE`
// writes.

import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

import { LIMIT, open } from "./browser.mjs";

const site = process.env.BACKSIGHT_SITE;
assert.ok(site, "BACKSIGHT_SITE must name a published site");
const index = pathToFileURL(`${site}/index.html`).href;
const target = pathToFileURL(`${site}/linux/index.html`).href;
const THROUGHPUT = "tbench.throughput,clients=2";
const LATENCY = "tbench.latency,clients=2";

const heading = (page) => page.locator("h1").innerText();

/** No part of the page is wider than the window. */
async function fits(page) {
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(wider, 0, `${await page.title()} is no wider than the window`);
}

/** From the index to a raw log, by clicks. */
async function walk(page, hasScripts) {
  const titles = [];
  const arrived = async () => {
    // A page without its style is wider.
    await page.waitForLoadState();
    titles.push(await page.title());
    await fits(page);
  };
  await arrived();
  await page.locator("a.target").click();
  await arrived();
  if (hasScripts) {
    await page.locator(".plots canvas").waitFor();
    assert.match(await page.locator(".legend").innerText(), /tbench clients=2 throughput/, "what changed is shown first");
    // The change, told as a sentence, leads to its commits.
    await page.locator(".changes a").first().click();
  } else {
    assert.equal(await page.locator("#history").isVisible(), false);
    await page.locator("table.series th a").first().click();
    await arrived();
    assert.equal(await heading(page), "tbench clients=2 throughput");
    assert.ok(await page.locator("figure.course .field").isVisible(), "there is a chart");
    assert.ok((await page.locator(".y span").count()) >= 4, "its axis has values");
    assert.ok((await page.locator("#versions tbody tr").count()) > 20, "and its versions are a table");
    await page.locator("#changes a").first().click();
  }
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
  for (const [what, viewport] of [["a desk", { width: 1400, height: 900 }], ["a phone", { width: 360, height: 780 }]]) {
    const how = javaScriptEnabled ? "with" : "without";
    test(`the way from the index to a raw log is open on ${what}, ${how} scripts`, LIMIT, async () => {
      const { context, page, requests, complaints } = await open(index, { javaScriptEnabled, viewport, colorScheme: "dark" });
      await walk(page, javaScriptEnabled);
      assert.deepEqual(complaints, []);
      assert.deepEqual(requests.filter((url) => !url.startsWith("file://")), []);
      await context.close();
    });
  }
}

/** What the reader sees of the chart's state. */
const seen = async (page) => ({
  charts: await page.locator(".plots canvas").count(),
  chosen: await page.locator(".legend li > a").allInnerTexts(),
  about: await page.locator(".legend small").allInnerTexts(),
  window: await page.locator(".window").innerText(),
  mode: await page.locator(".modes [aria-pressed=true]").allInnerTexts(),
  rows: await page.locator("table.series tbody tr:visible th").allInnerTexts(),
});

const box = (page, slug) => page.locator(`tr[data-s="${slug}"] input`);

/** Drags over the chart, from and to these shares of its width. */
async function drag(page, from, to) {
  const { x, y, width, height } = await page.locator(".u-over").first().boundingBox();
  const middle = y + height / 2;
  await page.mouse.move(x + width * from, middle);
  await page.mouse.down();
  await page.mouse.move(x + (width * (from + to)) / 2, middle);
  await page.mouse.move(x + width * to, middle);
  await page.mouse.up();
}

test("two series are chosen, set in ratio and zoomed: a reload shows the same, and the back button goes through it", LIMIT, async () => {
  const { context, page, complaints } = await open(target);
  await page.locator(".plots canvas").waitFor();
  const first = await seen(page);
  assert.deepEqual(first.chosen, ["tbench clients=2 throughput"]);
  await box(page, LATENCY).click();
  await page.locator(".plots canvas").nth(1).waitFor();
  const two = await seen(page);
  assert.deepEqual(two.mode, ["Separate"], "two units have no one axis");
  await page.getByRole("button", { name: "Ratio" }).click();
  await page.locator("label.base").waitFor();
  assert.equal(await page.locator(".plots canvas").count(), 1);
  await drag(page, 0.5, 0.8);
  await page.getByRole("button", { name: "All versions" }).waitFor();
  const zoomed = await seen(page);
  assert.match(zoomed.window, /^6\.1\.1\d to 6\.1\.2\d .* of 30 versions$/);
  assert.notEqual(zoomed.window, first.window);
  await page.reload();
  await page.locator(".plots canvas").waitFor();
  assert.deepEqual(await seen(page), zoomed);
  await page.goBack();
  await page.waitForFunction((window) => document.querySelector(".window").textContent === window, two.window);
  assert.deepEqual((await seen(page)).mode, ["Ratio"]);
  await page.goBack();
  await page.locator(".plots canvas").nth(1).waitFor();
  assert.deepEqual(await seen(page), two);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("the list is searched, filtered and sorted", LIMIT, async () => {
  const { context, page, complaints } = await open(target);
  const rows = async () => (await seen(page)).rows;
  assert.equal((await rows()).length, 3);
  await page.getByLabel("Changed only").check();
  assert.deepEqual(await rows(), ["tbench.throughput"]);
  await page.reload();
  assert.deepEqual(await rows(), ["tbench.throughput"], "the address keeps it");
  await page.getByLabel("Changed only").uncheck();
  await page.getByLabel("Search series").fill("HACK");
  assert.deepEqual(await rows(), ["hackbench.time"]);
  await page.getByLabel("Search series").fill("");
  await page.getByLabel("Tag").selectOption("b:tbench");
  assert.equal((await rows()).length, 2);
  await page.getByLabel("Tag").selectOption("");
  await page.locator("thead [data-by=name] button").click();
  assert.deepEqual(await rows(), ["hackbench.time", "tbench.latency", "tbench.throughput"]);
  await page.locator("thead [data-by=name] button").click();
  assert.deepEqual(await rows(), ["tbench.throughput", "tbench.latency", "hackbench.time"]);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("keys choose, zoom, pan, step through versions and open one", LIMIT, async () => {
  const { context, page, complaints } = await open(`${target}#s=${THROUGHPUT}`);
  await page.locator(".plots canvas").waitFor();
  const all = (await seen(page)).window;
  await page.keyboard.press("j");
  await page.locator(".legend a", { hasText: "latency" }).waitFor();
  await page.keyboard.press("k");
  await page.locator(".legend a", { hasText: "throughput" }).waitFor();
  await page.keyboard.press("+");
  const near = (await seen(page)).window;
  assert.notEqual(near, all);
  await page.keyboard.press("ArrowLeft");
  assert.notEqual((await seen(page)).window, near);
  await page.keyboard.press("Escape");
  assert.equal((await seen(page)).window, all);
  await page.locator(".plots").focus();
  await page.keyboard.press(".");
  await page.keyboard.press(".");
  assert.match(await page.locator("#history > [role=status]").innerText(), /^6\.1\.1, 2023-01-02, tbench clients=2 throughput \d+/);
  await page.keyboard.press("Enter");
  await page.waitForURL(/v\/6\.1\.1\.html$/);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a pan that Escape takes back does nothing later", LIMIT, async () => {
  const { context, page, complaints } = await open(`${target}#s=${THROUGHPUT}`);
  await page.locator(".plots canvas").waitFor();
  await page.keyboard.press("+");
  await page.clock.install();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Escape");
  const steps = await page.evaluate(() => history.length);
  await page.locator(".plots").focus();
  await page.keyboard.press(".");
  await page.evaluate(() => { document.querySelector(".plots canvas").isTheSame = true; });
  await page.clock.runFor(1000);
  assert.equal(await page.locator(".plots canvas").evaluate((canvas) => canvas.isTheSame), true);
  assert.equal(await page.evaluate(() => history.length), steps);
  await page.keyboard.press("Enter");
  await page.waitForURL(/v\/6\.1\.0\.html$/);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("the pointer says version, day, title and values; a click on a point or a change leads there", LIMIT, async () => {
  const { context, page } = await open(`${target}#s=${THROUGHPUT}&from=6.1.14&to=6.1.21`);
  await page.locator(".plots canvas").waitFor();
  const over = page.locator(".u-over");
  const { width } = await over.boundingBox();
  // The eight versions divide the width.
  await over.hover({ position: { x: (width * 5.5) / 8, y: 100 } });
  await page.locator(".tip .soft").waitFor();
  assert.match(await page.locator(".tip").innerText(), /^6\.1\.19 2023-01-20\s+net: the 19th change of it\s+\d+ ±\d+ MB\/s/);
  await over.click({ position: { x: (width * 4) / 8, y: 9 } });
  await page.waitForURL(/compare\/6\.1\.17\.\.6\.1\.18\.html$/);
  await page.goBack();
  await page.locator(".plots canvas").waitFor();
  // Where the point is, the tip's version has its value: along the upright, until it leads away.
  const { height } = await over.boundingBox();
  for (let y = 30; y < height && page.url().includes("index.html"); y += 12) {
    await over.click({ position: { x: (width * 5.5) / 8, y } });
  }
  await page.waitForURL(/v\/6\.1\.19\.html$/);
  await context.close();
});

test("where the zoom has no data stands the command that measures it", LIMIT, async () => {
  const { context, page } = await open(`${target}#s=${THROUGHPUT}&from=6.1.3&to=6.1.4`);
  const gap = page.locator(".gap code");
  await gap.waitFor();
  assert.equal(await gap.innerText(), "backsight step --like weekly-2 --from 6.1.3 --to 6.1.4 --every all");
  await context.close();
});

test("on paper the chart has the colours of paper", LIMIT, async () => {
  const { context, page } = await open(target, { colorScheme: "dark" });
  await page.locator(".plots canvas").waitFor();
  // Lines of the grid are most of what is drawn.
  const brightness = () => page.locator(".plots canvas").evaluate((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let [sum, drawn] = [0, 0];
    for (let at = 0; at < data.length; at += 4) {
      if (data[at + 3] < 200) continue;
      sum += (data[at] + data[at + 1] + data[at + 2]) / 3;
      drawn += 1;
    }
    return sum / drawn;
  });
  const dark = await brightness();
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  const paper = await brightness();
  assert.ok(paper > dark + 30, `${paper} and ${dark}`);
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  await context.close();
});

test("an address that names what isn't there shows what is", LIMIT, async () => {
  const { context, page, complaints } = await open(`${target}#s=gone&s=${LATENCY}&from=7&to=8&base=x&mode=%zz&tag=<b>&q=%3Cimg%3E`);
  await page.locator(".plots canvas").waitFor();
  const { chosen, window, rows } = await seen(page);
  assert.deepEqual(chosen, ["tbench clients=2 latency"]);
  assert.match(window, /^6\.1\.0 to 6\.1\.29 /);
  assert.deepEqual(rows, []);
  assert.deepEqual(complaints, []);
  await context.close();
});

/** The site's page of a target with other data: so many versions, with a value each. */
function manyPoints(count) {
  const folder = mkdtempSync(join(tmpdir(), "backsight-points-"));
  for (const part of ["style.css", "assets", "linux/index.html"]) cpSync(join(site, part), join(folder, part), { recursive: true });
  mkdirSync(join(folder, "linux/data/s"), { recursive: true });
  const all = Array.from({ length: count }, (_, at) => at);
  const script = (name, kind, value) => writeFileSync(join(folder, "linux/data", name), `backsight("${kind}",${JSON.stringify(value)});`);
  const versions = {
    target: "linux", names: all.map((at) => `0c${at}`).join("\n"), addresses: {}, times: all.map((at) => (at === 0 ? 20_000_000 : 61).toString(36)).join(","),
    releases: all.filter((at) => at % 5000 === 0), quirks: {}, unmeasured: {}, environment: {}, said: {},
  };
  script("versions.js", "versions", versions);
  const noise = (at) => ((at * 2_654_435_761) % 1000) / 500 - 1;
  const value = (at) => Math.round(100 * (500 - 40 * Number(at > 0.6 * count) + 4 * noise(at)));
  const series = {
    slug: THROUGHPUT, like: null, name: "tbench", benchmark: "tbench", unit: "MB/s", axis: "MB/s", coverage: "", decimals: 2, runs: [0, count],
    values: all.map((at) => (value(at) - (at > 0 ? value(at - 1) : 0)).toString(36)).join(","), half: `1,${all.map(() => "f").join(",")}`,
    again: "", reboot: "", relink: "", counts: [[0, "2 trials"]], unstable: [], changes: [], epochs: [], levels: [], drift: [], notes: [],
  };
  script(`s/${THROUGHPUT}.js`, "series", series);
  return folder;
}

test("a hundred thousand points are there soon, and pan", LIMIT, async () => {
  const folder = manyPoints(100_000);
  const { context, page, complaints } = await open("about:blank");
  const began = performance.now();
  await page.goto(`${pathToFileURL(folder).href}/linux/index.html#s=${THROUGHPUT}&from=c40000&to=c90000`);
  await page.locator(".plots canvas").waitFor();
  const ready = performance.now() - began;
  await page.locator(".plots").focus();
  const frames = await page.evaluate(() => new Promise((resolve) => {
    const times = [];
    let last = performance.now();
    const frame = (now) => {
      times.push(now - last);
      last = now;
      if (times.length === 120) return resolve(times.slice(1));
      document.querySelector(".plots").dispatchEvent(new KeyboardEvent("keydown", { key: times.length % 40 < 20 ? "ArrowRight" : "ArrowLeft", bubbles: true }));
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }));
  frames.sort((a, b) => a - b);
  const at = (share) => frames[Math.floor(share * (frames.length - 1))].toFixed(1);
  console.log(`100,000 points: there after ${ready.toFixed(0)} ms; frames while panning over 50,000: median ${at(0.5)} ms, 95 % ${at(0.95)} ms, longest ${at(1)} ms`);
  assert.ok(ready < 5000, `${ready} ms`);
  assert.deepEqual(complaints, []);
  await context.close();
  rmSync(folder, { recursive: true });
});
