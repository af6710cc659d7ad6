"""The end of the table of `failure_table.py`: codes and wordings that say little, and what is no failure at all.

They are looked at last: what such a code stands before tells more than the code. Sources are those of the table.
"""

from spillway.aws.failure_row import Row
from spillway.model.fleet import CapacityType, FailureClass, Scope

GENERAL: tuple[Row, ...] = (
    Row(FailureClass.CAPACITY, Scope.OFFERING, codes=("InsufficientInstanceCapacity", "InsufficientCapacity")),
    Row(
        FailureClass.SPOT_FULFILMENT,
        Scope.OFFERING,
        codes=("UnfulfillableCapacity",),  # [E] [I] a fleet ends with it whatever it was that stood in the way
        wordings=(r"unable to fulfill capacity",),  # [I]
        market=CapacityType.SPOT,
    ),
    Row(FailureClass.ADDRESSES, Scope.GROUP, codes=("InsufficientAddressCapacity",)),
    Row(
        FailureClass.OTHER_QUOTA,
        Scope.GROUP,  # of what, and how far it reaches, nobody knows
        codes=("BandwidthLimitExceeded",),
        wordings=(
            r"\b(?:limit|quota)s?\b…\b(?:exceed|reached)|\b(?:exceed|reached)\w*\b…\b(?:limit|quota|maximum)s?\b",
        ),
    ),
    Row(
        FailureClass.ROLE,
        Scope.GROUP,
        codes=(
            "AuthFailure", "UnauthorizedOperation", "AccessDenied", "AccessDeniedException", "NotAuthorized",
            "SignatureDoesNotMatch", "InvalidClientTokenId",
        ),
        wordings=(
            r"authentication failure|not authorized|\baccess\b…\bdenied\b|\bsecurity token\b",
            r"\b(?:do(?:es)? not|don't|doesn't) have (?:the )?(?:\w+ )?permissions?\b",
        ),
    ),
    Row(FailureClass.ACCOUNT, Scope.REGION, codes=("OptInRequired", "Blocked")),
    Row(
        FailureClass.UNSUPPORTED,
        Scope.GROUP,
        codes=(
            "Unsupported", "UnsupportedOperation", "UnsupportedHostConfiguration", "UnsupportedHibernationConfiguration",
            "UnsupportedInstanceTypeOnHost", "UnsupportedTenancy", "EncryptedVolumesNotSupported", "InvalidInstanceFamily",
            "InvalidHostConfiguration", "InstanceCreditSpecification",
        ),
    ),
    Row(
        FailureClass.TEMPLATE,
        Scope.GROUP,
        codes=(
            "InvalidFleetConfiguration", "InvalidFleetConfig", "InvalidLaunchTemplate", "InvalidParameter",
            "InvalidParameterValue", "InvalidParameterCombination", "InvalidRequest", "InvalidInput",
            "InvalidBlockDeviceMapping", "ValidationError", "ClientInvalidParameterValue", "UnknownParameter", "MissingInput",
            "InvalidQueryParameter", "InvalidSpotFleetRequestConfig", "InvalidInstanceAttributeValue",
        ),
    ),
    Row(FailureClass.SERVICE, Scope.GROUP, codes=("InternalError", "Unavailable")),
)  # fmt: skip

NO_FAILURE = (
    r"Spot instance request: \S+ has been cancelled",  # [O]
    r"Client\.UserInitiatedShutdown|Client\.UserInitiatedHibernate",  # [R] somebody ended it
)
"""Launches that nobody misses."""
