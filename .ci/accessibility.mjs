// Checks HTML files with axe-core in Chromium: at 1,280 and 390 pixels, light and dark. Exit status 1
// if a rule is violated, a script fails, or the page scrolls sideways. It is no part of the gate,
// because it needs a browser:
//
//     npm install --prefix /tmp/axe puppeteer-core axe-core
//     NODE_PATH=/tmp/axe/node_modules CHROMIUM=/usr/bin/chromium node .ci/accessibility.mjs report.html
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import process from "node:process";

// `import` does not look at NODE_PATH; `require` does.
const require = createRequire(import.meta.url);
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
let faults = 0;
for (const file of process.argv.slice(2)) {
  for (const width of [1280, 390]) {
    for (const scheme of ["light", "dark"]) {
      const page = await browser.newPage();
      const found = [];
      page.on("pageerror", (error) => found.push(`script: ${error}`));
      await page.setViewport({ width, height: 900 });
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      await page.goto(`file://${resolve(file)}`);
      const beyond = await page.evaluate(() => {
        const root = document.documentElement;
        return root.scrollWidth - root.clientWidth;
      });
      if (beyond > 0) found.push(`the page is ${beyond} pixels wider than the screen`);
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => axe.run(document));
      for (const { id, nodes } of violations) {
        found.push(`${id}: ${nodes.length} times, first ${nodes[0].html.slice(0, 120)}`);
      }
      console.log(`${file} ${width} ${scheme}: ${found.length ? found.join("; ") : "no violation"}`);
      faults += found.length;
      await page.close();
    }
  }
}
await browser.close();
process.exitCode = faults > 0 ? 1 : 0;
