"""EC2's vCPU quotas: the class that an instance type counts against, and the codes by which Service Quotas knows it.

Source: EC2 User Guide, "Amazon EC2 instance type quotas"; codes as `aws service-quotas list-service-quotas --service-code ec2`
prints them (Running On-Demand … instances; All … Spot Instance Requests). Each quota is one number of vCPUs for a class, a
market and a region, over all of the account.
"""

from typing import NamedTuple


class QuotaClass(NamedTuple):
    """`families` are the letters before a type's first digit; a code is "" where the market has no such quota."""

    name: str
    families: tuple[str, ...]
    on_demand: str
    spot: str


_STANDARD = QuotaClass("standard", (), "L-1216C47A", "L-34B43A08")  # A, C, D, H, I, M, R, T, Z, and what comes next
_CLASSES = (
    QuotaClass("g-and-vt", ("g", "gr", "vt"), "L-DB2E81BA", "L-3819A6DF"),
    QuotaClass("p", ("p",), "L-417A185B", "L-7212CCBC"),
    QuotaClass("f", ("f",), "L-74FC7D96", "L-88CF9481"),
    QuotaClass("inf", ("inf",), "L-1945791B", "L-B5D1601B"),
    QuotaClass("trn", ("trn",), "L-2C3B7624", "L-6B0D517C"),
    QuotaClass("x", ("x",), "L-7295265B", "L-E3A00192"),
    QuotaClass("dl", ("dl",), "L-6E869C2A", "L-85EED4F7"),
    QuotaClass("hpc", ("hpc",), "L-F7808C92", ""),
    QuotaClass("high-memory", ("u",), "L-43DA4232", ""),
    QuotaClass("mac", ("mac",), "", ""),  # dedicated hosts only, counted by the host
)


def quota_class(instance_type: str) -> QuotaClass:
    """`standard` unless the letters of the type's family have a class of their own."""
    letters = ""
    for letter in instance_type.partition(".")[0].partition("-")[0]:
        if not letter.isalpha():
            break
        letters += letter
    return next((one for one in _CLASSES if letters in one.families), _STANDARD)


def quota_code(instance_type: str, spot: bool) -> str:
    """Service Quotas' code of the quota that a launch of the type counts against, "" where there is none."""
    found = quota_class(instance_type)
    return found.spot if spot else found.on_demand


CODES = frozenset(code for one in (_STANDARD, *_CLASSES) for code in (one.on_demand, one.spot) if code)
"""Of all of them, on-demand and spot."""
