"""What the build adds to Sphinx: four extensions; website/README.md has the way through them."""
