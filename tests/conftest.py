"""One thread a process: the tensors here are small, and tests run in several processes at once."""

import torch

torch.set_num_threads(1)
