# The stored writer, run by a reader's parts: called from the page. It is the model of the chapter
# `one-block`, and what breaks it comes from that chapter's exercises.

import torch
from attention_workbook.exercises.engine.judging import fresh_world

from attention_lib import causal_mask, rotate_by_position
from attention_workbook.exercises.engine import running
from attention_workbook.exercises.engine.running import ANSWER, Failure

host = running.host  # what a reader may not import, and what comes later may not either
_facts = {}  # letters, heads, layers, held-out text, names of parts, what breaks them
_weights = {}
_writers = {}  # by whose parts they are made of
_inside = []  # names of the parts that run, the innermost last
_returned = [""]  # the part that returned last
_since = [0]  # tensors that were made later are forgotten after each step


def know(facts, numbers):
    """Take the writer's numbers, and all else that is known of it."""
    _facts.update(facts)
    given = {name: torch.Tensor(numbers[name], True) for name in numbers}
    for name in given:
        if not name.endswith(".scale"):
            x = given[name]
            if name + ".scale" in given:
                x = x * given[name + ".scale"]
            is_matrix = len(x.shape) == 2 and name != "embedding.weight"
            _weights[name] = x.mT.contiguous() if is_matrix else x
    _writers["ours"] = Writer(_parts_of_the_book(), cached=True)
    _since[0] = host.mark()


def take(mine, lowered):
    """Make a writer of the parts of a text; return what is wrong if the text does not run."""
    running._source[:] = mine.split("\n")
    parts = _parts_of_the_book()
    outcome = running.run(lambda: exec(compile(lowered + "\n", ANSWER, "exec"), parts), ())
    if isinstance(outcome, Failure):
        return outcome.sentence().replace("your function stops", "mine.py stops", 1)
    for name in _facts["parts"]:
        parts[name] = _marked(name, parts[name])
    _writers["yours"] = Writer(parts, cached=False)
    _writers["cached"] = Writer(parts, cached=True)
    _since[0] = host.mark()
    return ""


def _parts_of_the_book():
    parts = fresh_world()
    with open("/lib/attention_workbook/parts.py") as file:
        exec(file.read(), parts)
    return parts


class Unwritten(Exception):
    """A part returned what a stub returns."""


def _marked(name, function):
    """Return a part that notes when it runs, so that one knows which one failed."""

    def marked(*given, **named):
        depth = len(_inside)
        _inside.append(name)
        host.inside(name)
        result = function(*given, **named)
        if result is ...:
            raise Unwritten
        del _inside[depth:]
        _returned[0] = name
        host.inside(_inside[-1] if _inside else "")
        return result

    return marked


class Writer:
    """Letters in, scores of the next letter out; with a cache it reads only what is new."""

    def __init__(self, parts, cached):
        self.parts, self.cached = parts, cached
        self.begin("")

    def begin(self, breakage):
        """Forget what was read, and put a breakage, or none, in the place of the heads."""
        self.read = 0
        nothing = torch.zeros(1, 0, _weights["embedding.weight"].shape[1])
        self.caches = [(nothing, nothing)] * _facts["layers"]
        self.heads = self.parts["my_many_heads"]
        if breakage:
            world = fresh_world()
            exec(_facts["breakages"], world)
            inner = [self.parts[name] for name in ("my_unit_scores", "my_masked_softmax")]
            self.heads = world["breakages"](self.heads, *inner)[breakage]

    def scores(self, ids, cached=False):
        """Return the scores of the next letter at each place, ``(1, len, letters)``."""
        x = _weights["embedding.weight"][ids].unsqueeze(0)  # (1, len, d_model)
        for layer in range(_facts["layers"]):
            x = self._block(x, layer, cached)
        return _linear(x, "W_out")

    def _block(self, x, layer, cached):
        return self.parts["my_block"](
            x,
            lambda x: self._attention(x, layer, cached),
            lambda x: _feed_forward(x, layer),
            lambda x: _norm(x, 2 * layer),
            lambda x: _norm(x, 2 * layer + 1),
        )

    def _attention(self, x, layer, cached):
        name = "attentions.%d.W_" % layer
        queries, keys, values = (x @ _weights[name + which + ".weight"] for which in "qkv")
        heads = _facts["heads"]
        if cached:
            new = queries, keys, values
            part = self.parts["my_cached_heads"]
            gathered, keys, values = part(*new, heads, *self.caches[layer])
            self.caches[layer] = keys, values
        else:
            mask = causal_mask(x.shape[1])
            gathered = self.heads(_turned(queries), _turned(keys), values, heads, mask)
        return gathered @ _weights[name + "o.weight"]

    def next(self, text):
        """Return the most probable next letter."""
        ids = _ids(text[self.read :] if self.cached else text)
        scores = self.scores(ids, self.cached)
        if self.cached:
            self.read = len(text)
        return _facts["letters"][scores[0, -1].argmax().item()]

    def loss(self, row):
        """Return the loss of a row of the held-out text."""
        ids = _ids(_facts["rows"][row])
        targets = ids[1:].unsqueeze(0)
        return self.parts["my_loss"](self.scores(ids[:-1]), targets).item()


def _ids(text):
    return torch.tensor([_facts["letters"].index(letter) for letter in text])


def _linear(x, name):
    return x @ _weights[name + ".weight"] + _weights[name + ".bias"]


def _turned(x):
    split = x.unflatten(-1, (_facts["heads"], -1)).transpose(1, 2)
    return rotate_by_position(split).transpose(1, 2).flatten(-2)


def _feed_forward(x, layer):
    wide = _linear(x, "feed_forwards.%d.0" % layer).relu()
    return _linear(wide, "feed_forwards.%d.2" % layer)


def _norm(x, number):
    gain, shift = [_weights["add_norms.%d.norm.%s" % (number, kind)] for kind in ("weight", "bias")]
    return torch.functional.layer_norm(x, x.shape[-1:], gain, shift)


def begin(who, breakage):
    _writers[who].begin(breakage)
    return ""


def step(who, what, given):
    """Let a writer write a letter or read a row: what is given, or a part and a sentence."""
    del _inside[:]
    writer = _writers[who]
    outcome = running.run(lambda: getattr(writer, what)(given), ())
    kept = [x for each in _writers for cache in _writers[each].caches for x in cache]
    host.release(_since[0], *[x._n for x in kept if isinstance(x, torch.Tensor)])
    if isinstance(outcome, Failure):
        part = _inside[-1] if _inside else _returned[0]
        return {"part": part, "failed": _said(outcome, part)}
    return {"given": outcome}


def _said(failure, part):
    """Return the sentence of a failure with the name of the part."""
    if isinstance(failure.error, Unwritten):
        return "`%s` is not written yet." % part
    if _inside:
        return failure.sentence().replace("your function", "`%s`" % part, 1)
    return "what `%s` returned does not fit: %s" % (part, str(failure.error))
