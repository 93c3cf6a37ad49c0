// What every figure with sliders shares in the browser. A figure imports all of it from here; the
// bundler (bundle.py) reads these lines, so a module stands after those that it imports.

export * from "./elements.js";
export * from "./numbers.js";
export * from "./dtypes.js";
export * from "./packed.js";
export * from "./transformer.js";
export * from "./sentences.js";
export * from "./colors.js";
export * from "./address.js";
export * from "./model.js";
export * from "./frame.js";
export * from "./play.js";
export * from "./motion.js";
export * from "./controls.js";
export * from "./plot.js";
export * from "./save.js";
export * from "./view.js";
