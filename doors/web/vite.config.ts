// One file with everything in it: scripts, styles, licences, and the engine as compressed base64.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const ROOT = resolve(import.meta.dirname, "../..");

// `cargo` puts the engine here; see the README. With `native` the page has none, and works with `gpucast serve` alone.
const ENGINE = process.env["GPUCAST_ENGINE"] ?? join(ROOT, "target/wasm32-wasip1/page/gpucast_web.wasm");

/** The licence texts of what the page contains, for people: packages, and crates where a build has listed them. */
function licences(): string {
  const crates = join(ROOT, "target/classroom-licences.txt");
  return [packages(), existsSync(crates) ? readFileSync(crates, "utf8") : ""].join(`\n\n${"=".repeat(72)}\n\n`);
}

function packages(): string {
  const { packages } = JSON.parse(readFileSync(join(import.meta.dirname, "package-lock.json"), "utf8"));
  const parts: string[] = [];
  for (const [path, about] of Object.entries<{ dev?: boolean; license?: string; version?: string }>(packages)) {
    if (!path.startsWith("node_modules/") || about.dev) continue;
    const folder = join(import.meta.dirname, path);
    const files = existsSync(folder) ? readdirSync(folder).filter((name) => /^licen[cs]e/i.test(name)).sort() : [];
    const texts = files.map((name) => readFileSync(join(folder, name), "utf8").trim());
    parts.push([`${path.slice("node_modules/".length)} ${about.version} (${about.license})`, ...texts].join("\n\n"));
  }
  return parts.join(`\n\n${"-".repeat(72)}\n\n`);
}

/** Texts that the build makes, as modules. */
function made(): Plugin {
  const texts: Record<string, () => string> = { "virtual:licences": licences };
  return {
    name: "made",
    resolveId: (id) => (id in texts ? `\0${id}` : null),
    load: (id) => {
      const text = texts[id.slice(1)];
      return id.startsWith("\0") && text ? `export default ${JSON.stringify(text())}` : null;
    },
  };
}

/** A module without its custom sections: names of functions, which nobody reads in a page. */
function withoutNames(module: Buffer): Buffer {
  const kept = [module.subarray(0, 8)];
  for (let at = 8; at < module.length; ) {
    let [size, shift, from] = [0, 0, at + 1];
    for (;;) {
      const byte = module[from++]!;
      size += (byte & 0x7f) * 2 ** shift;
      shift += 7;
      if (byte < 0x80) break;
    }
    if (module[at] !== 0) kept.push(module.subarray(at, from + size));
    at = from + size;
  }
  return Buffer.concat(kept);
}

/** Moves scripts and styles into the page. Nothing is left beside it. */
function oneFile(): Plugin {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_options, bundle) {
      const page = bundle["index.html"];
      if (page?.type !== "asset") throw new Error("there is no page");
      let html = String(page.source);
      for (const [name, file] of Object.entries(bundle)) {
        if (name === "index.html") continue;
        const text = file.type === "chunk" ? file.code : String(file.source);
        const inside = text.replaceAll("</script", "<\\/script");
        const tag = name.endsWith(".css")
          ? new RegExp(`<link[^>]*href="[^"]*${name}"[^>]*>`)
          : new RegExp(`<script[^>]*src="[^"]*${name}"[^>]*></script>`);
        if (!tag.test(html)) throw new Error(`the page does not name ${name}`);
        html = html.replace(tag, () =>
          name.endsWith(".css") ? `<style>${text}</style>` : `<script type="module">${inside}</script>`,
        );
        delete bundle[name];
      }
      const module = ENGINE === "native" ? Buffer.alloc(0) : withoutNames(readFileSync(ENGINE));
      const engine = gzipSync(module, { level: 9 }).toString("base64");
      html = html.replace("<!--engine-->", () => `<script type="text/plain" id="engine">${engine}</script>`);
      delete bundle["index.html"];
      this.emitFile({ type: "asset", fileName: "gpucast-classroom.html", source: html });
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [made(), oneFile()],
  build: { target: "es2022", assetsInlineLimit: 1 << 20, modulePreload: false, cssCodeSplit: false },
  worker: { format: "iife" },
});
