// What the panel asks of Python: grade parts, write letters with them, measure a loss.

import { partUses } from "./mine.js";
import { ownParts } from "./parts.js";
import { Endless, Stopped, Trouble } from "./session.js";

export const BEGINNING = "The query ";
const LENGTH = 64; // letters that are written
const ENDLESS = "was still running after 5 seconds. Does a loop there never reach its end?";
const SLOW = 1500; // milliseconds after which a reader may have stopped a letter that never comes

/** A part that stopped, or never ended. */
export class PartTrouble extends Trouble {
  constructor(part, message = `\`${part}\` ${ENDLESS}`) {
    super(message);
    this.part = part;
  }
}

/** The stored writer, run by parts; errors name the part. */
export class Writing {
  constructor(session) {
    this.session = session;
    this.facts = null;
  }

  async ready() {
    const { session } = this;
    this.facts = await session.fetched("writer.json", "json");
    const numbers = await session.fetched("writer.safetensors", "arrayBuffer");
    await session.load("writer", () => ({ kind: "writer", facts: this.facts, numbers }));
  }

  /** Let Python read a text of mine.py; where it cannot, the error is in it as a whole. */
  async take(text) {
    const { said } = await this.session.ask({ kind: "parts", mine: text });
    if (said) throw new Trouble(said);
  }

  /**
   * Have the parts of a text judged by their graders: what each is that is not right, and why, by
   * name. A part that calls such a one is not judged: nothing is known of it.
   */
  async wrongParts(text) {
    await this.take(text);
    const wrong = new Map();
    const doubtful = []; // what is wrong, and what calls it: such a part may be right
    for (const part of ownParts(text, Object.keys(this.facts.parts))) {
      if (doubtful.some((name) => partUses(text, part, name))) {
        doubtful.push(part);
        continue;
      }
      const [chapter, exercise] = this.facts.parts[part];
      const request = { chapter, exercise, name: part, source: text };
      try {
        const { passed, unwritten, said } = await this.session.judged(request);
        if (passed) continue;
        doubtful.push(part);
        const why = said.replace(/^Not yet: /, "").replace("your function", "it");
        const lacks = /: this page (?:has|does not know) /.test(said);
        if (unwritten) wrong.set(part, "not written yet.");
        else wrong.set(part, `${lacks ? "more than this page can run" : "not right"}: ${why}`);
      } catch (error) {
        throw error instanceof Endless ? new PartTrouble(part) : error;
      }
    }
    return wrong;
  }

  /** One letter, or the loss on one row; an error names the part. */
  async step(who, what, given) {
    const { session } = this;
    const begun = performance.now();
    session.inside = "";
    let answer;
    try {
      answer = await session.ask({ kind: "step", who, what, given });
    } catch (error) {
      if (!session.inside) throw error;
      if (error instanceof Endless) throw new PartTrouble(session.inside);
      if (error instanceof Stopped && performance.now() - begun > SLOW) {
        throw new Trouble(`Stopped, while \`${session.inside}\` was running.`);
      }
      throw error;
    }
    if (answer.failed) throw new PartTrouble(answer.part, answer.failed);
    return answer.given;
  }

  /** Let two writers write, letter by letter in turn; a breakage breaks the reader's without a cache. */
  async write(text, writers, breakage, hear) {
    await this.ready();
    await this.take(text);
    const texts = Object.fromEntries(writers.map((who) => [who, BEGINNING]));
    const spent = Object.fromEntries(writers.map((who) => [who, 0]));
    for (const who of writers) {
      const broken = who === "yours" ? breakage : "";
      await this.session.ask({ kind: "begin writing", who, breakage: broken });
    }
    for (let count = 1; count <= LENGTH; count++) {
      for (const who of writers) {
        const begun = performance.now();
        texts[who] += await this.step(who, "next", texts[who]);
        spent[who] += performance.now() - begun;
      }
      hear(texts, Object.fromEntries(writers.map((who) => [who, (1000 * count) / spent[who]])));
    }
  }

  /** The mean loss on the held-out rows. */
  async loss(who) {
    let sum = 0;
    for (const row of this.facts.rows.keys()) sum += Number(await this.step(who, "loss", row));
    return sum / this.facts.rows.length;
  }
}
