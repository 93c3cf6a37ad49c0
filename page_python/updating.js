// A reader's own `my_update` for a model that learns in the page: found, started, asked for each step.

import { keepsOf, mine } from "./keeping.js";
import { ownParts } from "./parts.js";
import { Session, Trouble } from "./session.js";

const PART = "my_update";

/** The text that defines the rule: what stands in its editor, else what is kept; or an empty text. */
function sourceOf(page) {
  const editor = page.querySelector(`.attention-code[data-name="${PART}"]`)?.dataset;
  const draft = editor && keepsOf(`${editor.chapter}.${editor.exercise}`).draft();
  const text = mine.text();
  if (draft && new RegExp(`^def ${PART}\\b`, "m").test(draft)) return `${text}\n\n\n${draft}`;
  return ownParts(text, [PART]).length ? text : "";
}

/** The reader's rule, or null where there is none; it says what is wrong by errors. */
export function ruleOf(page, base) {
  const source = sourceOf(page);
  if (!source) return null;
  const session = new Session(base);
  return {
    async begin(shapes, values) {
      await session.start();
      const { said } = await session.ask({ kind: "rule", source, shapes, values });
      if (said) throw new Trouble(said);
    },
    async step(gradients, rate) {
      const answer = await session.ask({ kind: "update", gradients, rate });
      if (answer.failed) throw new Trouble(answer.failed);
      return answer;
    },
    end() {
      session.end();
      session.spare?.terminate();
    },
  };
}
