// What the page itself knows of PTX: colours, and which line of CUDA a line stands for.

import { StreamLanguage } from "@codemirror/language";
import { cpp } from "@codemirror/legacy-modes/mode/clike";
import { toml } from "@codemirror/legacy-modes/mode/toml";

export const ptxLanguage = StreamLanguage.define<object>({
  name: "ptx",
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match("//")) {
      stream.skipToEnd();
      return "comment";
    }
    if (stream.match(/^"[^"]*"/)) return "string";
    if (stream.match(/^@!?%\w+/)) return "atom";
    if (stream.match(/^%[\w.]+/)) return "variableName";
    if (stream.match(/^\$[\w$]+/)) return "labelName";
    if (stream.match(/^\.[A-Za-z_]\w*/)) return "meta";
    if (stream.match(/^(0[fFdD][0-9a-fA-F]+|0[xX][0-9a-fA-F]+|-?\d[\d.]*)/)) return "number";
    if (stream.match(/^[a-z][\w]*(\.[\w:]+)*(?=\s)/)) return "keyword";
    if (stream.match(/^[\w$]+/)) return null;
    stream.next();
    return null;
  },
  languageData: { commentTokens: { line: "//" } },
});

const CUDA_WORDS = "__global__ __shared__ __device__ __constant__ __restrict__ __syncthreads __launch_bounds__";

export const cudaLanguage = StreamLanguage.define({
  ...cpp,
  token(stream, state) {
    const style = cpp.token(stream, state);
    return CUDA_WORDS.split(" ").includes(stream.current()) ? "keyword" : style;
  },
});

export const launchLanguage = StreamLanguage.define(toml);

/** The line of the source that each line of PTX stands for, by `.loc`; both are counted from 1. */
export function sourceLines(ptx: string): Map<number, number> {
  const lines = new Map<number, number>();
  let source = 0;
  ptx.split("\n").forEach((line, at) => {
    const text = line.trim();
    const place = /^\.loc\s+\d+\s+(\d+)/.exec(text);
    if (place) {
      source = Number(place[1]);
    } else if (text === "}" || text.startsWith(".visible") || text.startsWith(".entry")) {
      source = 0;
    } else if (source > 0 && /^(@!?%\w+\s+)?[a-z]/.test(text)) {
      lines.set(at + 1, source);
    }
  });
  return lines;
}
