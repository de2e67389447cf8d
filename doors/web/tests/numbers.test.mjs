// The engine's answers under node are those of the command line, to the last digit.
//
//     GPUCAST=target/release/gpucast GPUCAST_ENGINE=….wasm node --test tests/numbers.test.mjs
//
// With GPUCAST_ENGINE=native the program's own engine answers, which needs no build of its own.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";

import { instance } from "../src/engine/instance.js";

const ROOT = resolve(import.meta.dirname, "../../..");
const GPUCAST = resolve(process.env["GPUCAST"] ?? join(ROOT, "target/release/gpucast"));
const ENGINE = process.env["GPUCAST_ENGINE"] ?? join(ROOT, "target/wasm32-wasip1/page/gpucast_web.wasm");
const TASKS = join(ROOT, "studies/lab/tasks");
const GPU = "h100-sxm";
// In the gate a part of all.
const IS_NIGHTLY = process.env["GPUCAST_NIGHTLY"] !== undefined;

/** @type {(request: string) => string} */
let answer;
const folder = mkdtempSync(join(tmpdir(), "gpucast-page-"));

before(async () => {
  if (ENGINE === "native") {
    answer = (request) => {
      const question = join(folder, "question.json");
      writeFileSync(question, request);
      return execFileSync(GPUCAST, ["--no-project", "classroom", question], { maxBuffer: 1 << 30 }).toString();
    };
    return;
  }
  answer = await instance(new WebAssembly.Module(readFileSync(ENGINE)), () => undefined, console.error);
});
after(() => rmSync(folder, { recursive: true }));

/** @param {object} request */
function ask(request) {
  const { document, errors } = JSON.parse(answer(JSON.stringify(request)));
  assert.deepEqual(errors, []);
  return document;
}

/** @param {object} request */
function refused(request) {
  const { document, errors } = JSON.parse(answer(JSON.stringify(request)));
  assert.equal(document, null);
  return errors[0].message;
}

/** @param {string[]} words */
function gpucast(...words) {
  // A machine with NVIDIA's assembler would count its code instead of that of the rules.
  const { stdout, stderr } = spawnSync(GPUCAST, ["--no-project", "--error-format=json", ...words, "--format=json"], { cwd: folder, maxBuffer: 1 << 30 });
  // Where there is no document, the last line of the errors is a report.
  return JSON.parse(stdout.toString() || (stderr.toString().trim().split("\n").pop() ?? ""));
}

/**
 * Files of a task's version, for the command line and as fields of a request.
 *
 * @param {string} task
 * @param {"start" | "solution"} which
 */
function texts(task, which) {
  const read = (/** @type {string} */ name) => readFileSync(join(TASKS, task, name), "utf8");
  const own = readdirSync(join(TASKS, task)).includes("solution.toml") && which === "solution";
  const [source, cuda, launch] = [read(`${which}.ptx`), read(`${which}.cu`), read(own ? "solution.toml" : "launch.toml")];
  writeFileSync(join(folder, "kernel.cu"), source);
  writeFileSync(join(folder, `${which}.cu`), cuda);
  writeFileSync(join(folder, "launch.toml"), launch);
  return { source, launch, cuda: { name: `${which}.cu`, text: cuda }, params: [] };
}

const tasks = readdirSync(TASKS).filter((_, at) => IS_NIGHTLY || at % 4 === 2);

for (const task of tasks) {
  for (const which of /** @type {const} */ (["start", "solution"])) {
    test(`${task}: ${which}`, () => {
      const kernel = texts(task, which);
      const on = { ...kernel, gpu: GPU };
      const rules = ["--machine=rules", `--gpu=${GPU}`, "launch.toml"];
      const predicted = gpucast("predict", ...rules);
      if (predicted.schema === "gpucast.report/1") {
        assert.equal(refused({ tool: "predict", ...on }), predicted.message);
      } else {
        assert.deepEqual(ask({ tool: "predict", ...on }), predicted);
        const counted = gpucast("profile", "--by=line", "--stalls", "--source=ptx", ...rules);
        const lines = ask({ tool: "profile", ...on, source_lines: "ptx" });
        assert.deepEqual(lines.launches.map((/** @type {any} */ one) => one.lines), counted.launches.map((/** @type {any} */ one) => one.lines));
        assert.deepEqual(ask({ tool: "advise", ...on }), gpucast("advise", ...rules));
      }
      const checked = ask({ tool: "lab-check", task, ...kernel });
      assert.equal(checked.done, which === "solution");
      const own = gpucast("lab", "check", `--task=${task}`, ".");
      assert.deepEqual({ ...checked, name: "" }, { ...own, name: "" });
    });
  }
}

test("kernels of the corpus", () => {
  const all = ask({ tool: "kernels" }).kernels.map((/** @type {any} */ one) => one.name);
  const names = IS_NIGHTLY ? all : ["sgemm", "reduction-f32", "transpose", "histogram", "n-body", "vector-add"];
  for (const name of names) {
    const on = { corpus: name, size: "small", gpu: GPU };
    const [own, theirs] = [ask({ tool: "predict", ...on }), gpucast("predict", "--machine=rules", `--gpu=${GPU}`, "--size=small", name)];
    assert.deepEqual(own, theirs, name);
  }
});

test("a changed GPU is that of the command line", () => {
  const kernel = texts("03-coalescing", "start");
  const set = ["memory_bandwidth=2x", "sp_clock=0.5x"];
  const changes = set.map((one) => one.replace("=", " = \"") + "\"").join("\n");
  writeFileSync(join(folder, "gpu.toml"), `name = "changed"\nbase = "${GPU}"\n${changes}\n`);
  const [own, theirs] = [ask({ tool: "predict", ...kernel, gpu: GPU, set }), gpucast("predict", "--machine=rules", "--gpu=gpu.toml", "launch.toml")];
  assert.equal(own.predictions[0].time_ms, theirs.predictions[0].time_ms);
});

test("pictures are those of the command line", () => {
  const kernel = texts("07-banks", "start");
  for (const picture of ["access", "banks", "divergence", "timeline"]) {
    const file = join(folder, "picture.svg");
    const gpu = picture === "divergence" ? [] : [`--gpu=${GPU}`];
    const machine = picture === "timeline" ? ["--machine=rules"] : [];
    execFileSync(GPUCAST, ["--quiet", "plot", picture, "launch.toml", ...gpu, ...machine, `--output=${file}`], { cwd: folder });
    const drawn = ask({ tool: "plot", ...kernel, gpu: GPU, picture, cta: [0, 0, 0], warp: 0 });
    assert.equal(drawn.svg, readFileSync(file, "utf8"), picture);
  }
});

test("a warp's steps end with what it leaves in memory", () => {
  // Each lane of task 1's solution stores the number at its own index.
  const record = ask({ tool: "steps", ...texts("01-indexing", "solution"), cta: [0, 0, 0], warp: 1 });
  assert.equal(record.has_ended, true);
  assert.equal(record.steps.length, record.all_steps);
  const [, , executing, , accesses] = record.steps.find((/** @type {any} */ step) => step[4].some((/** @type {any} */ one) => one.kind === "store"));
  const buffer = record.objects.find((/** @type {any} */ one) => one.space === "global" && one.name === "x");
  const [from, stride] = accesses.find((/** @type {any} */ one) => one.kind === "store").addresses;
  assert.equal(executing >>> 0, 0xffff_ffff);
  assert.equal(stride, 4);
  assert.equal(from - buffer.address, 32 * 4);
});

test("faults are told, and the engine goes on", () => {
  const wrong = JSON.parse(answer(JSON.stringify({ tool: "predict", source: "nonsense", launch: "module = \"k.ptx\"\n", gpu: GPU })));
  assert.equal(wrong.document, null);
  assert.ok(wrong.errors.length > 0);
  for (const request of ["", "{}", "[]", JSON.stringify({ tool: "plot" }), JSON.stringify({ tool: "gpus", x: 1 })]) JSON.parse(answer(request));
  assert.ok(ask({ tool: "gpus" }).gpus.length > 20);
});
