"""How the book becomes a website: what make calls once there is an environment."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
