"""An answer that is not as AWS documents it: the fault of that one answer, which stops no other."""

import msgspec

from spillway.errors import AwsUnavailable

ODD = (AttributeError, IndexError, KeyError, TypeError, ValueError, msgspec.MsgspecError)
"""What reading such an answer raises."""


def odd(region: str, what: str, error: Exception) -> AwsUnavailable:
    """One of ODD as an error of the call, or of what was made of its answer."""
    return AwsUnavailable(region, what, f"the answer is not as AWS documents it: {type(error).__name__}: {error}")
