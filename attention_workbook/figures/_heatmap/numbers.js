// What is shown of weights: the table, its numbers and words.

import {
  entropy,
  fixed,
  packedHeads,
  readLines,
  readNumber,
  unpackHead,
  unpackMask,
} from "../_shared/index.js";

export const AXES = ["layer", "head", "query", "key"];
const MOST = 64; // rows and columns of a pasted table

/** The rows of a table of weights that a reader has pasted; an Error that says what is wrong. */
export function readWeights(text) {
  const rows = readLines(text).map((line) =>
    line.map((part) => readNumber(part, { min: 0, max: 1 })),
  );
  const other = rows.findIndex((row) => row.length !== rows[0].length);
  if (other > 0)
    throw new Error(
      `Line ${other + 1} has ${rows[other].length} number${rows[other].length === 1 ? "" : "s"}, line 1 has ${rows[0].length}.`,
    );
  if (Math.max(rows.length, rows[0]?.length ?? 0) > MOST)
    throw new Error(`At most ${MOST} lines of ${MOST} numbers are shown.`);
  return rows;
}

/** What is shown: the table that the reader has pasted, else what Python has packed, with the tokens
    that the reader has typed where they are as many. A place beyond the last one is the last. */
export function given(state) {
  const own = state.pasted ? readWeights(state.pasted) : null;
  const shape = own ? [1, 1, own.length, own[0].length] : state.shape;
  const typed = state.typed.split(/\s+/).filter(Boolean);
  const tokens = (kind, count) => {
    if (typed.length === count) return typed;
    return own ? Array.from({ length: count }, (_, i) => String(i)) : state[`${kind}_tokens`];
  };
  return {
    own,
    shape,
    query_tokens: tokens("query", shape[2]),
    key_tokens: tokens("key", shape[3]),
    head_names: state.head_names,
    beside: own ? -1 : state.beside,
    ...Object.fromEntries(AXES.map((axis, i) => [axis, Math.min(state[axis], shape[i] - 1)])),
  };
}

/** A head as it is drawn and read: its weights in steps of 1/levels, and which cells are allowed. */
export function tableOf(
  { own, shape: [, heads, len_q, len_k], layer },
  head,
  content,
  packed_mask,
) {
  if (own) {
    return {
      steps: Float64Array.from(own.flat()),
      levels: 1,
      allowed: new Uint8Array(len_q * len_k).fill(1),
      leaks: false,
      len_k,
    };
  }
  const number = layer * heads + head;
  const steps = unpackHead(content, number, len_q * len_k);
  const allowed = unpackMask(packed_mask, number, len_q * len_k);
  return {
    steps,
    levels: content.levels,
    allowed,
    leaks: steps.some((step, i) => step > 0 && !allowed[i]),
    len_k,
  };
}

/** The numbers of a cell, its row and its column, and the cell's weight in the head beside; `now` is
    what is shown, and `table` gives a head. */
export function measure(state, table, now = given(state)) {
  const tables =
    table ??
    ((head) => tableOf(now, head, now.own ? null : packedHeads(state.packed), state.packed_mask));
  const { beside, query, key } = now;
  const { steps, allowed, levels, len_k } = tables(now.head);
  const row = Array.from(
    steps.subarray(query * len_k, (query + 1) * len_k),
    (step) => step / levels,
  );
  const column = Array.from(
    { length: steps.length / len_k },
    (_, i) => steps[i * len_k + key] / levels,
  );
  const column_max = Math.max(...column);
  const row_max = Math.max(...row);
  return {
    weight: row[key],
    row_max,
    row_entropy: entropy(row),
    effective_keys: Math.exp(entropy(row)),
    column_max,
    column_mean: column.reduce((sum, weight) => sum + weight, 0) / column.length,
    looker: column.indexOf(column_max),
    largest: row.indexOf(row_max),
    masked: allowed[query * len_k + key] === 0,
    other: beside < 0 ? null : tables(beside).steps[query * len_k + key] / levels,
  };
}

/** A token whose blanks can be seen. */
export const visible = (token) => token.replace(/\s/gu, "␣");

/** A position with its token, where it has one: 1 “cat”. */
export function named(position, tokens) {
  const token = tokens[position];
  return token === String(position) ? token : `${position} “${visible(token)}”`;
}

export const headName = (names, head) => names[head] ?? `head ${head}`;

/** The finding in words: where the query looks or, along the `axis` of keys, who looks at the key. */
export function words(state, measured, now = given(state), axis = "query") {
  const { shape, layer, head, beside, head_names, query, key, query_tokens, key_tokens } = now;
  const where = [shape[0] > 1 && `layer ${layer}`, shape[1] > 1 && headName(head_names, head)]
    .filter(Boolean)
    .join(", ");
  const said = (text) => {
    const whole = `${where && `${where}: `}${text}`;
    const other =
      beside < 0
        ? ""
        : ` Beside it: ${headName(head_names, beside)}, where this cell has ${fixed(measured.other)}.`;
    return `${whole[0].toUpperCase()}${whole.slice(1)}${other}`;
  };
  const [asking, asked] = [`query ${named(query, query_tokens)}`, `key ${named(key, key_tokens)}`];
  if (axis === "key") {
    const looker = `query ${named(measured.looker, query_tokens)}`;
    const most =
      measured.column_max === 0 ? "by nobody" : `most by ${looker} (${fixed(measured.column_max)})`;
    return said(
      `${asked} is looked at ${most}, and by all queries ${fixed(measured.column_mean)} on average.`,
    );
  }
  const weight = `${asking} gives ${asked} the weight ${fixed(measured.weight)}`;
  const largest = ` The largest of its row is ${fixed(measured.row_max)}, at key ${named(measured.largest, key_tokens)}.`;
  if (measured.masked) {
    const leak =
      measured.weight === 0 ? "." : `, yet gives it the weight ${fixed(measured.weight)}: a leak.`;
    const row = measured.row_max === 0 ? " This row has no weight at all." : largest;
    return said(`${asking} may not attend to ${asked}${leak}${row}`);
  }
  if (measured.row_max === 0) return said(`${weight}. This row has no weight at all.`);
  return said(
    measured.largest === key ? `${weight}, the largest of its row.` : `${weight}.${largest}`,
  );
}

/** What is set, for a still picture. */
export function setting({ shape }) {
  const names = [["layer"], ["head"], ["query", "queries"], ["key"]];
  const counts = shape.map((count, i) => {
    const [one, many = `${one}s`] = names[i];
    return `${count} ${count === 1 ? one : many}`;
  });
  return `${counts.join(", ")}.`;
}
