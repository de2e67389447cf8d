// Takes the pictures of a report for docs/pictures.md: the first screen on a desktop, light, and on a
// phone, dark. With `whole`, it takes the whole page at four widths, light and dark, for somebody who
// looks at them, and says how high each page is.
//
//     NODE_PATH=/tmp/axe/node_modules node .ci/screenshots.mjs report.html docs/pictures
//     NODE_PATH=/tmp/axe/node_modules node .ci/screenshots.mjs report.html /tmp/look whole
import { createRequire } from "node:module";
import { basename, join, resolve } from "node:path";
import process from "node:process";

// `import` does not look at NODE_PATH; `require` does.
const require = createRequire(import.meta.url);
const puppeteer = require("puppeteer-core");

const [file, folder, whole] = process.argv.slice(2);
const widths = [390, 768, 1280, 1920];
const pictures = whole
  ? widths.flatMap((width) =>
      ["light", "dark"].map((scheme) => {
        const name = `${basename(file, ".html")}-${width}-${scheme}.png`;
        return { name, width, height: 1000, scheme, fullPage: true };
      }),
    )
  : [
      { name: "report-desktop.png", width: 1280, height: 1100, scheme: "light" },
      { name: "report-phone.png", width: 390, height: 1100, scheme: "dark" },
    ];
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
for (const { name, width, height, scheme, fullPage } of pictures) {
  const page = await browser.newPage();
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(`file://${resolve(file)}`);
  await page.screenshot({ path: join(folder, name), fullPage });
  if (fullPage) {
    console.log(name, await page.evaluate(() => document.documentElement.scrollHeight));
  }
  await page.close();
}
await browser.close();
