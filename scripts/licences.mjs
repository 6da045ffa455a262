// Reads `cargo metadata` and refuses a dependency whose licence isn't a permissive one.
import { readFileSync } from "node:fs";

const permitted = new Set([
  "MIT", "MIT-0", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "ISC",
  "Zlib", "0BSD", "CC0-1.0", "Unlicense", "Unicode-3.0", "BSL-1.0",
]);

// An expression of SPDX: `OR` lets us choose, `AND` doesn't. The old `/` means OR.
function allowed(expression) {
  const parts = (text, word) => {
    let depth = 0, start = 0;
    const found = [];
    for (let i = 0; i < text.length; i++) {
      if (text[i] === "(") depth++;
      if (text[i] === ")") depth--;
      if (depth === 0 && text.startsWith(word, i)) {
        found.push(text.slice(start, i));
        start = i + word.length;
      }
    }
    return [...found, text.slice(start)].map((part) => part.trim());
  };
  const text = expression.replaceAll("/", " OR ").trim();
  const either = parts(text, " OR ");
  if (either.length > 1) return either.some(allowed);
  const both = parts(text, " AND ");
  if (both.length > 1) return both.every(allowed);
  if (text.startsWith("(") && text.endsWith(")")) return allowed(text.slice(1, -1));
  return permitted.has(text);
}

const { packages } = JSON.parse(readFileSync(0, "utf8"));
const refused = packages.filter((p) => !p.license || !allowed(p.license));
for (const p of refused) console.error(`${p.name} ${p.version}: licence ${p.license ?? "not stated"}`);
if (refused.length > 0) {
  console.error(`${refused.length} of ${packages.length} packages have a licence that isn't permitted`);
  process.exit(1);
}
console.log(`licences of ${packages.length} packages are permitted`);
