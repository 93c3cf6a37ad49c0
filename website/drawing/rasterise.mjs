// Makes pixels of SVGs, by resvg (MPL-2.0). In: JSON, the packages' folder, files of fonts, a width
// in pixels, and SVGs. Out: PNGs in base 64.

import { createRequire } from "node:module";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

const { packages, fonts, width, pictures } = JSON.parse(await text(process.stdin));
const { Resvg } = createRequire(pathToFileURL(`${packages}/`))("@resvg/resvg-js");

const options = {
  fitTo: { mode: "width", value: width },
  font: { loadSystemFonts: false, fontFiles: fonts, defaultFontFamily: "Book Sans" },
};
const painted = pictures.map((svg) => new Resvg(svg, options).render().asPng().toString("base64"));
process.stdout.write(JSON.stringify(painted));
