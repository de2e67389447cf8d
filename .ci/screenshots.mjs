// Takes the pictures of a report for docs/pictures.md: the first screen on a desktop, light, and on a
// phone, dark.
//
//     NODE_PATH=/tmp/axe/node_modules node .ci/screenshots.mjs report.html docs/pictures
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import process from "node:process";

// `import` does not look at NODE_PATH; `require` does.
const require = createRequire(import.meta.url);
const puppeteer = require("puppeteer-core");

const [file, folder] = process.argv.slice(2);
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
for (const { name, width, height, scheme } of [
  { name: "report-desktop.png", width: 1280, height: 1100, scheme: "light" },
  { name: "report-phone.png", width: 390, height: 1100, scheme: "dark" },
]) {
  const page = await browser.newPage();
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(`file://${resolve(file)}`);
  await page.screenshot({ path: join(folder, name) });
  await page.close();
}
await browser.close();
