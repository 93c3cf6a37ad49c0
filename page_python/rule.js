// A reader's update rule in the worker: tensors in and out, and the calls of Python in between.

import { lowered } from "./lowering.js";
import { cleaned } from "./reading.js";
import { Tensor, flat, product } from "./tensors.js";

/** Let Python know the text with `my_update`, and the tensors that it is to change. */
export function startRule({ python, door }) {
  const since = door.next;
  let shapes;

  const call = (name, ...given) => {
    python.globals.set("given", JSON.stringify(given));
    python.runPython(`import updating, json\nresult = updating.${name}(*json.loads(given))`);
    return python.PyProxy.toJs(python.globals.get("result"));
  };

  /** The numbers, which lie one after another, as tensors that Python knows. */
  function kept(numbers) {
    let at = 0;
    return shapes.map((shape) => {
      const part = numbers.slice(at, at + product(shape));
      at += part.length;
      return door.keep(new Tensor(part, shape, "float32"));
    });
  }

  return {
    take(given) {
      ({ shapes } = given);
      const source = cleaned(given.source);
      return call("take", source, lowered(source), kept(given.values));
    },
    step({ gradients, rate }) {
      const { failed, made, remembers } = call("step", kept(gradients), rate);
      if (failed) return { failed };
      door.release(since, ...made);
      const values = shapes.map((_, i) => flat(door.get(made[3 * i])));
      const all = new Float32Array(gradients.length);
      let at = 0;
      for (const part of values) {
        all.set(part, at);
        at += part.length;
      }
      return { values: all, remembers };
    },
  };
}
