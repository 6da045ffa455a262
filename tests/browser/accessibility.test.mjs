// Every kind of page in a real browser with axe-core, light and dark: nothing that is serious for who can't see or use a mouse, and headings in order.
//
// BACKSIGHT_SITE names the site of `cargo run -p backsight-site --example sample_history -- STORE SITE`, the others the pages of
// the other examples.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import axe from "axe-core";

import { LIMIT, open } from "./browser.mjs";

const { BACKSIGHT_SITE: site, BACKSIGHT_REPORT: report, BACKSIGHT_PROFILE: profile, BACKSIGHT_TIMELINE: timeline, BACKSIGHT_TESTS: tests } = process.env;
assert.ok(site && report && profile && timeline && tests, "the samples must be named");

/** The first page in a folder of the site. */
const first = (folder) => join(site, folder, readdirSync(join(site, folder)).filter((name) => name.endsWith(".html")).sort()[0]);
const changed = readdirSync(join(site, "linux/c"))[0];
const pages = {
  home: join(site, "index.html"),
  status: join(site, "status/index.html"),
  target: join(site, "linux/index.html"),
  versions: join(site, "linux/versions.html"),
  series: first("linux/s"),
  change: join(site, "linux/c", changed),
  version: join(site, "linux/v", changed),
  interval: first("linux/compare"),
  report, profile, timeline, tests,
};

// In the dark only the colours are others.
for (const [colorScheme, rules] of [["light", {}], ["dark", { runOnly: ["color-contrast"] }]]) {
  test(`nothing on any page is serious for axe-core, ${colorScheme}`, LIMIT, async () => {
    const found = [];
    for (const [name, path] of Object.entries(pages)) {
      const { context, page } = await open(pathToFileURL(path).href, { colorScheme });
      // As an expression: a page's policy lets no other script in.
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate((rules) => globalThis.axe.run(document, { resultTypes: ["violations"], ...rules }), rules);
      for (const { id, impact, nodes } of violations) {
        if (["serious", "critical"].includes(impact) || id === "heading-order") {
          found.push(`${name}: ${id} (${nodes.length}): ${nodes[0].html.slice(0, 160)} ${nodes[0].failureSummary.split("\n")[1] ?? ""}`);
        }
      }
      await context.close();
    }
    assert.deepEqual(found, []);
  });
}

test("axe-core sees what is wrong", LIMIT, async () => {
  const { context, page } = await open(pathToFileURL(pages.home).href);
  await page.evaluate(() => document.querySelector("main").append(document.createElement("select")));
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  assert.ok(violations.some(({ id }) => id === "select-name"), JSON.stringify(violations.map(({ id }) => id)));
  await context.close();
});
