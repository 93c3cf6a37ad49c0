"""Tests, a file for each of the library's; a package, so that no other named tests comes first."""
