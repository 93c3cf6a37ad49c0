"""Figures that answer to sliders, in Jupyter and on the book's static pages.

- :class:`HeadSplit`: where each number lands when a width is split into heads.
- :class:`HeatmapExplorer`: the weights of any layers and heads, cell by cell.
- :class:`KernelRegression`: a mean of noisy values, weighted by how near their keys are.
- :class:`MaskLab`: what each fill value does to weights, in each dtype; where weight leaks.
- :class:`OnlineSoftmax`: a softmax in one pass over blocks of keys.
- :class:`ScoringPlane`: a query among keys, and what each score function makes of every place.
- :class:`SentenceReader`: a trained transformer reads a sentence: who looks at whom.
- :class:`SoftLookup`: a query among four keys, and the output inside the hull of their values.
- :class:`SoftmaxSaturation`: what the width of queries and keys does to weights and gradient.

How to write one more
---------------------
A figure ``Name`` is two files beside each other, ``name.py`` and ``name.js``, and a line in this
module (the import, ``__all__``, the list above). Nothing else needs to be told.

``name.py`` holds the class, a subclass of :class:`~attention_lib.widgets._figure.Figure`::

    class Name(Figure):
        _script = "name.js"

        len_k = Whole(16, min=2, max=64).tag(sync=True)
        temperature = Real(1.0, min=0.1, max=10.0).tag(sync=True)
        dtype = OneOf(DTYPES, "float32").tag(sync=True)

        def picture(self):  # the still: svg(tag("rect", …), tag("text", …), width=…, height=…)
        def words(self):    # what it shows, with its numbers, in sentences

- Its traits with ``sync=True`` are its state: what Python sets and observes, what the sliders
  move, and what stands in ``data-state`` on a static page. They are plain numbers, strings,
  booleans and lists of these, or bytes (a ``DataView`` in JavaScript, in both worlds). No NaN
  and no infinity: JSON has none. ipywidgets has some names for itself (``keys``, ``layout``);
  a class that takes one is refused. Validate so that a wrong value is a ``TraitError`` that says
  what was expected and what came; :func:`~attention_lib.widgets._figure.refusal` makes one.
- ``Name()`` without arguments is an example worth looking at: the tests hold it to what every
  figure owes its reader, and ``{slider-figure} Name`` shows it.
- Numbers shown in the still picture go through ``fixed`` or ``short``, text through ``tag``,
  which escapes it. Colours are ``palette.LIGHT[…]``, and ``map_color`` for the weight map;
  ``fill="url(#masked)"`` and ``fill="url(#nan)"`` are always there.
- What is computed for the still picture is computed with numpy in float64; nothing here imports
  the library's mathematics. A test shows that both agree.

``name.js`` holds the view, a plain ES module::

    import { createView, svg, setAttributes } from "./_shared.js";   // one import, one line

    export function measure(settings) { … }                          // pure, tested by Node

    export function render({ model, el }) {
      const traits = ["len_k", "temperature"];
      const view = createView({ model, el }, { label: "What it is called", traits });
      const plot = view.plot({ height: 240, description: "What is drawn" });
      const largest = view.readout({ name: "max_weight", label: "Largest weight" });
      view.slider({ trait: "len_k", label: "Number of keys", min: 2, max: 64,
                    words: (len_k) => `${len_k} keys` });
      view.start(() => { /* read everything from model, draw into plot.svg, plot.width wide */ });
      return view.cleanup;
    }

    export default { render };                                       // the last line

- ``createView`` cares for the reset, for redrawing (once a frame, when a trait or the width has
  changed), for listeners and for cleanup. Own listeners take ``{ signal: view.signal }``; a
  value that a pointer or a key has changed goes to the model by ``view.set(trait, value)``.
- The numbers shown are readouts: ``view.readout(…)(value)`` shows three decimals and keeps the
  full number in ``data-value``, which tests compare with ``attention_lib`` to 1e-6.
- ``view.say(sentence)`` says the finding; the still picture's ``words`` end in the same sentence.
- A page is slow to write to, so a draw writes what has changed and no more: ``setAttributes``,
  ``setText`` and ``setChildren`` see to it, and ``view.part`` leaves out what stands as it should.
- ``view.stage`` takes other elements than plots (a canvas, a table); ``view.readouts`` are cards,
  ``view.details`` is a full-width place below; see ``_shared.js`` for the rest: ``choice``,
  ``toggle``, ``button``, ``colorMap``, ``pixelMap``, ``readableOn``, ``addPatterns``, ``round`` to
  a dtype.
- Colours are ``var(--aw-…)``, the palette's names; rules are in ``figure.css``, for all figures.
  No inline style attributes in markup (``element.style.setProperty`` is fine), no innerHTML.

``tests/widgets/test_name.py`` then needs little: see ``test_saturation.py``. The first run with
``ATTENTION_STORE_PICTURES=1`` stores what the figure looks like; look at it.
"""

from attention_lib.widgets.head_split import HeadSplit
from attention_lib.widgets.heatmap_explorer import HeatmapExplorer
from attention_lib.widgets.kernel_regression import KernelRegression
from attention_lib.widgets.mask_lab import MaskLab
from attention_lib.widgets.online_softmax import OnlineSoftmax
from attention_lib.widgets.saturation import SoftmaxSaturation
from attention_lib.widgets.scoring_plane import ScoringPlane
from attention_lib.widgets.sentence_reader import SentenceReader
from attention_lib.widgets.soft_lookup import SoftLookup

__all__ = [
    "HeadSplit",
    "HeatmapExplorer",
    "KernelRegression",
    "MaskLab",
    "OnlineSoftmax",
    "ScoringPlane",
    "SentenceReader",
    "SoftLookup",
    "SoftmaxSaturation",
]
