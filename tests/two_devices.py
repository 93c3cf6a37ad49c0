"""A second device without a GPU at hand: finds what would fail there, a tensor left on the CPU.

:data:`SECOND`, ``cpu:0``, stands for the GPU. PyTorch computes there as on the CPU, but an
operation that makes or moves a tensor is told of it. :class:`TwoDevices` remembers those tensors,
reports the second device as theirs, and refuses what PyTorch refuses with a GPU.
"""

import weakref

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

SECOND = torch.device("cpu", 0)
aten = torch.ops.aten
# These take tensors of both: a copy, and an index on the CPU, which PyTorch moves itself.
INDEXING = (aten.index, aten.index_put, aten.index_put_)
MIXING = (aten.copy_, aten._to_copy)
MAKING = (torch.tensor, torch.as_tensor, torch.asarray)
LEAVING = (torch.Tensor.numpy, torch.Tensor.__array__)


class WrongDeviceError(RuntimeError):
    """What a GPU would refuse."""


def tensors_in(nested):
    return [x for x in tree_leaves(nested) if isinstance(x, torch.Tensor)]


class Places:
    """Which tensors are on the second device, by their memory."""

    def __init__(self):
        self.addresses = set()

    def has(self, tensor):
        return tensor.untyped_storage()._cdata in self.addresses

    def put(self, nested, there):
        for tensor in tensors_in(nested):
            storage = tensor.untyped_storage()
            if there and storage._cdata not in self.addresses:
                self.addresses.add(storage._cdata)
                weakref.finalize(storage, self.addresses.discard, storage._cdata)
            elif not there:
                self.addresses.discard(storage._cdata)


class Operations(TorchDispatchMode):
    """Follow every operation below autograd, in the backward pass too."""

    def __init__(self, places):
        super().__init__()
        self.places = places

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = tensors_in((args, kwargs))
        there = [self.places.has(x) for x in given]
        device = kwargs.get("device")
        if device == SECOND and isinstance(kwargs.get("generator"), torch.Generator):
            raise WrongDeviceError(f"{func} draws on the second device from a generator of the CPU")
        # A single number is no obstacle: the CPU hands it over with the call.
        here = [x for x, at in zip(given, there, strict=True) if not at and x.dim() > 0]
        operation = func.overloadpacket
        allowed = operation in MIXING or (operation in INDEXING and there[0])
        if any(there) and here and not allowed:
            raise WrongDeviceError(
                f"{func} is given {tuple(here[0].shape)} on the CPU, and another"
            )
        made = func(*args, **kwargs)
        if operation not in (aten.copy_, aten.index_put_):
            # Autograd makes tensors like another "on the CPU", where PyTorch takes both to be.
            like = any(there) and operation is not aten._to_copy
            self.places.put(made, like or (any(there) if device is None else device == SECOND))
        return made


class TwoDevices(TorchFunctionMode):
    """Compute with two devices, of which the second is :data:`SECOND`."""

    def __init__(self):
        super().__init__()
        self.places = Places()
        self.operations = Operations(self.places)

    def __enter__(self):
        device = torch.Tensor.device
        self.operations.__enter__()
        torch.Tensor.device = property(
            lambda x: SECOND if self.places.has(x) else device.__get__(x)
        )
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        del torch.Tensor.device  # that of its base class comes back
        self.operations.__exit__(*error)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        first = args[0] if args and isinstance(args[0], torch.Tensor) else None
        there = first is not None and self.places.has(first)
        if there and func in LEAVING:
            raise WrongDeviceError(f"{func.__name__} of a tensor on the second device")
        if there and self.comes_back(func, args, kwargs):
            made = first.clone()
            self.places.put(made, False)
            return made
        made = func(*args, **kwargs)
        if func in MAKING:
            self.places.put(made, kwargs.get("device") == SECOND)
        return made

    @staticmethod
    def comes_back(func, args, kwargs):
        if func is torch.Tensor.cpu:
            return True
        wanted = [x for x in (*args[1:], *kwargs.values()) if isinstance(x, (str, torch.device))]
        return func is torch.Tensor.to and any(str(x) == "cpu" for x in wanted)
