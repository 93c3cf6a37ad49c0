// Reads [{tex, display}, …] on standard input; writes [{html}|{error}, …] on standard output.
// The folder of the katex package is the one argument.
const katex = require(process.argv[2]);

const macros = JSON.parse(process.argv[3]);
const render = ({ tex, display }) => {
  try {
    return {
      html: katex.renderToString(tex, {
        displayMode: display,
        macros: { ...macros },
        strict: "error",
      }),
    };
  } catch (error) {
    return { error: error.message };
  }
};

let text = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk) => (text += chunk));
process.stdin.on("end", () => process.stdout.write(JSON.stringify(JSON.parse(text).map(render))));
