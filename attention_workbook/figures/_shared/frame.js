// What stands around every figure: title and task above it, its sentence, More and the tools below.

import { element, setText } from "./elements.js";

/** The frame of a figure, as elements; `tools` has the buttons that the place allows. */
export function createFrame({ title, aside, isQuiet, signal, link, reset }) {
  const box = (names, ...children) => element("div", { class: names }, ...children);
  const [stage, controls, readouts] = [
    "attention-stage",
    "attention-controls",
    "attention-readouts",
  ].map((name) => box(name));
  const more = { controls: box("attention-controls"), readouts: box("attention-readouts") };
  more.place = box("attention-further", more.readouts, more.controls);
  more.folded = element(
    "details",
    { class: "attention-more" },
    element("summary", isQuiet ? { "aria-label": "More" } : {}, isQuiet ? "…" : "More"),
    more.place,
  );
  const task = element("p", { class: "attention-task" });
  const finding = element("p", { class: "attention-finding", "aria-hidden": "true" });
  const spoken = element("p", { class: "attention-unseen", "aria-live": "polite" });
  const failure = element("p", { class: "attention-failure", role: "alert", hidden: true });
  const tools = box("attention-tools", isQuiet ? null : more.folded);
  const note = element("span", { class: "attention-note", role: "status" });
  const root = element(
    "div",
    { class: "attention-view", role: "group", "aria-label": title },
    box(
      "attention-page",
      element("p", { class: "attention-title" }, title),
      task,
      box(
        aside ? "attention-layout attention-aside" : "attention-layout",
        stage,
        controls,
        readouts,
      ),
      finding,
      failure,
    ),
    spoken,
  );

  (isQuiet ? more.place : root.firstChild).append(tools);
  function tool(text, act) {
    const button = tools.appendChild(
      element("button", { type: "button", class: "attention-tool" }, text),
    );
    button.addEventListener("click", act, { signal });
    return button;
  }
  tool("Reset", reset);
  if (link) {
    tool("Copy link", async () => {
      const address = location.href.replace(/#.*/, "") + link();
      history.replaceState(history.state, "", link());
      const copied = await navigator.clipboard?.writeText(address).then(
        () => true,
        () => false,
      );
      setText(note, copied ? "Link copied." : "The link is in the address bar.");
    });
  }
  if (document.fullscreenEnabled) {
    const whole = tool("Full screen", () => {
      if (document.fullscreenElement === root) document.exitFullscreen();
      else root.requestFullscreen();
    });
    root.addEventListener(
      "fullscreenchange",
      () => {
        setText(whole, document.fullscreenElement === root ? "Leave full screen" : "Full screen");
      },
      { signal },
    );
  }
  tools.append(note);
  return { root, stage, controls, readouts, more, task, finding, spoken, failure };
}
