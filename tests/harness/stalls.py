"""Claims of time on a machine that may stop for a while at any instant.

What must hold whatever the machine does (order, counts, never too early) is
asserted. What a stall can spoil is claimed by `timely`, in a test marked
`@stalls_spoil_a_try`: the whole test then gets another try, a few times. A
program that is wrong is wrong in each of them."""

import functools
import warnings

import pytest

TRIES = 6


class Stalled(AssertionError):
    """A claim of time that did not hold in this try."""


def timely(holds, *what):
    if not holds:
        raise Stalled(" ".join(map(str, what))[:3000])


def stalls_spoil_a_try(test):
    @functools.wraps(test)
    def again(*args, **keywords):
        for left in reversed(range(TRIES)):
            try:
                return test(*args, **keywords)
            except Stalled as e:
                if not left:
                    raise
                warnings.warn(f"a spoilt try of {test.__name__}: "
                              f"{str(e)[:200]}", stacklevel=1)

    # In pytest.ini is how long one try may take.
    return pytest.mark.timeout(120 * TRIES)(again)
