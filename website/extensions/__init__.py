"""What the build adds to Sphinx: four extensions; website/README.md has the way through them."""

LAST = 900  # the style sheets of single pages come after those of all, which Sphinx puts at 800
