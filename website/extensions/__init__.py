"""What the build adds to Sphinx: an extension a module, each named in ``_config.yml``."""
