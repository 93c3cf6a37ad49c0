// The stored writer in the worker: its numbers, and the calls of Python that let it write.

import { lowered } from "./lowering.js";
import { Tensor } from "./tensors.js";

/** The tensors of a safetensors file, whole numbers of eight bits as floats, and what is told of them. */
function unpackedModel(numbers) {
  const view = new DataView(numbers);
  const start = 8 + Number(view.getBigUint64(0, true));
  const { __metadata__: told, ...entries } = JSON.parse(
    new TextDecoder().decode(numbers.slice(8, start)),
  );
  const tensors = {};
  for (const [name, { dtype, shape, data_offsets: places }] of Object.entries(entries)) {
    const part = numbers.slice(...places.map((place) => start + place));
    const data = dtype === "I8" ? Float32Array.from(new Int8Array(part)) : new Float32Array(part);
    tensors[name] = new Tensor(data, shape, "float32");
  }
  return { told, tensors };
}

/** Let Python know the writer; `facts` is what the page brings, `numbers` its file. */
export function startWriter({ python, door }, { module, ...facts }, numbers) {
  const { told, tensors } = unpackedModel(numbers);
  python.FS.writeFile("/lib/writing.py", module);
  const kept = Object.entries(tensors).map(([name, tensor]) => [name, door.keep(tensor)]);
  const call = (name, ...given) => {
    python.globals.set("given", JSON.stringify(given));
    python.runPython(`import writing, json\nresult = writing.${name}(*json.loads(given))`);
    return python.PyProxy.toJs(python.globals.get("result"));
  };
  const layers = Object.keys(tensors).filter((name) => name.endsWith("W_q.weight")).length;
  const known = { ...facts, ...told, heads: Number(told.num_heads), layers };
  known.breakages = lowered(facts.breakages);
  call("know", known, Object.fromEntries(kept));
  return {
    take: (mine) => call("take", mine, lowered(mine)),
    begin: (who, breakage) => call("begin", who, breakage),
    step: (who, what, given) => call("step", who, what, given),
  };
}
