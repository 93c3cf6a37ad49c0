"""What takes longer than the gate allows: ``make nightly``."""
