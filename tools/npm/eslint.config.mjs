// What `make lint` finds wrong in JavaScript, beyond its form, which is Prettier's.

import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: [".*/**", "_build/**"] },
  js.configs.recommended,
  { languageOptions: { globals: globals.browser } },
  {
    files: ["tests/**", "website/extensions/theme/mathematics.js"],
    languageOptions: { globals: globals.node },
  },
];
