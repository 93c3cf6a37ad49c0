// Evaluate expressions with the page's torch, for the tests: JSON in, JSON out.
//
// in: {interpreter, micropython, files, calls: [{inputs: [{dtype, shape, data}], code}]}
// out: for each call {tensors: [{dtype, shape, data}]}, {value} or {error, message}

import fs from "node:fs";
import { pathToFileURL } from "node:url";

const { interpreter, micropython, files, calls } = JSON.parse(fs.readFileSync(0, "utf8"));
const { startPython } = await import(pathToFileURL(interpreter));
const { formatted } = await import(new URL("grader.js", pathToFileURL(interpreter)));
const { lowered } = await import(new URL("lowering.js", pathToFileURL(interpreter)));
const { loadMicroPython } = await import(pathToFileURL(`${micropython}/micropython.mjs`));
const module = new WebAssembly.Module(fs.readFileSync(`${micropython}/micropython.wasm`));
const { python, door } = await startPython({
  load: loadMicroPython,
  module,
  files,
  print: (line) => console.error(line),
  host: { formatted },
});

python.runPython(`
import torch
import torch.nn.functional as F
from attention_workbook.exercises.engine.judging import fresh_world

def described(result):
    if isinstance(result, torch.Tensor):
        return "t%d" % result._n
    if isinstance(result, tuple) and not isinstance(result, torch.Size) and result and all(isinstance(x, torch.Tensor) for x in result):
        return "t" + ",".join([str(x._n) for x in result])
    return "v" + repr(result)

def evaluated(code, *numbers):
    world = fresh_world()
    for name, number in zip("abcd", numbers):
        world[name] = torch.Tensor(number, True)
    try:
        if "\\n" in code:
            exec(code, world)
            return described(world["result"])
        return described(eval(code, world))
    except Exception as error:
        return "e" + type(error).__name__ + ":" + str(error)
`);
const evaluated = python.globals.get("evaluated");

const SPECIAL = { inf: Infinity, "-inf": -Infinity, nan: NaN };
const number = (text) => SPECIAL[text] ?? text;
const plain = (value) => (Number.isFinite(value) ? value : String(value));

function answer({ inputs, code }) {
  const first = door.next;
  const numbers = inputs.map(({ dtype, shape, data }) => {
    const made = door.operations.get("zeros").compute(shape, dtype);
    data.forEach((value, i) => (made.data[i] = number(value)));
    return door.keep(made);
  });
  const said = evaluated(code.includes("\n") ? lowered(code) : code, ...numbers);
  let result = { value: said.slice(1) };
  if (said[0] === "e") {
    const [error, ...message] = said.slice(1).split(":");
    result = { error, message: message.join(":") };
  }
  if (said[0] === "t") {
    const tensors = said
      .slice(1)
      .split(",")
      .map((n) => {
        const tensor = door.get(Number(n));
        const copy = door.operations.get("contiguous").compute(tensor);
        const data = copy.data.subarray(copy.offset, copy.offset + copy.size);
        return { dtype: tensor.dtype, shape: tensor.shape, data: Array.from(data, plain) };
      });
    result = { tensors };
  }
  door.release(first);
  return result;
}

process.stdout.write(JSON.stringify(calls.map(answer)));
