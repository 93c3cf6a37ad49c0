"""A contract about where tensors are made: on the device of the inputs."""

import copy
from dataclasses import replace

from torch import Tensor, nn

from attention_contracts._call import Attend, Call, output_for
from attention_contracts._report import first_line
from attention_contracts._subject import Subject


def assert_device_independent(
    attend: Attend, queries: Tensor, keys: Tensor, values: Tensor, *for_each: Tensor
) -> None:
    """Call with tensors on another device, and see that all is made where they are.

    No GPU is needed: PyTorch's device ``meta`` has shapes, dtypes and errors, and no numbers. Code
    that looks at numbers there, by ``.item()``, ``if`` or NumPy, is reported, too: on a GPU it
    would have to wait for them.

    Parameters
    ----------
    *for_each : torch.Tensor
        What else goes to the device: lengths, or a mask.

    Examples
    --------
    >>> import torch
    >>> x = torch.ones(1, 3, 4)
    >>> assert_device_independent(torch.nn.functional.scaled_dot_product_attention, x, x, x)
    """
    call = Call(attend, (queries, keys, values))
    on_meta = copy.deepcopy(attend).to("meta") if isinstance(attend, nn.Module) else attend
    _runs_anywhere(on_meta, *call.inputs, *for_each)


def _runs_anywhere(attend: Attend, *tensors: Tensor) -> None:
    try:
        output = output_for(attend, *(x.to("meta") for x in tensors))
    except (RuntimeError, TypeError, ValueError) as error:
        raise AssertionError(
            f"tied to a device: elsewhere the call fails: {first_line(error)}"
        ) from error
    if output.device.type != "meta":
        raise AssertionError(
            f"tied to a device: with inputs elsewhere the output is on {output.device}"
        )


def _device(subject: Subject) -> None:
    on_meta = subject
    if isinstance(subject.attend, nn.Module):
        on_meta = replace(subject, attend=copy.deepcopy(subject.attend).to("meta"))
    call = subject.call()
    _runs_anywhere(on_meta.call().attend, *call.inputs)


CONTRACTS = {"any device": _device}
