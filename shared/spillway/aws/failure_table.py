"""What AWS says when it refuses a launch: the one table of codes and wordings, and how far each reaches.

Activities have no field for a code; the text may begin with one. Decisive codes count first, wherever they stand in the
text; then wordings, the first row that is found, so inner reasons stand before the wrappers that quote them; then what
`failure_general.py` has, which says no more than that something was wrong. A wording names its meaning and lets names, ids,
types and zones vary; `…` in it stands for anything within a sentence.

Sources: [D] EC2 Auto Scaling User Guide, "Troubleshoot: EC2 instance launch failures", "AMI issues", "Load balancer issues",
"Availability Zone rebalancing"; [E] EC2 API Reference, "Error codes"; [R] EC2 API Reference, StateReason; [U] EC2 User Guide,
"Troubleshoot instance launch issues", "Spot request status codes"; [I] public issue threads, each named in
`tests/aws/failure_texts.json`; [O] texts that kubernetes-ec2-autoscaler was written against (2016 to 2019).
"""

from spillway.aws.failure_row import A_ZONE, MISSING, NAMED_TYPE, NAMED_ZONE, NOT_OFFERED, QUOTA, USED_UP, Row, together
from spillway.model.fleet import CapacityType, FailureClass, Scope

ROWS: tuple[Row, ...] = (
    Row(
        FailureClass.ENCRYPTION_KEY,
        Scope.GROUP,
        codes=(
            "Client.InternalError",  # [D] [R] [U] the key of a volume is not accessible
            "InvalidKMSKey", "KMSKeyNotAccessibleFault", "KMSKeyDisabled", "KmsAccessDeniedException",  # [I]
            "CustomerKeyHasBeenRevoked",  # [E]
        ),
        wordings=(
            rf"\bkms[ -]?key|\bkey ?ID\b…(?:not accessible|not enabled|{MISSING})",  # [I]
            r"\bkms:[a-z]+",  # [E] an action on a key that is not allowed
            r"customer (?:managed|master) key|\bencryption key|\bCMK\b",
            r"client error on launch",  # [D] the message of the first
        ),
    ),
    Row(
        FailureClass.ROLE,
        Scope.GROUP,
        codes=(
            "ServiceLinkedRoleCreationNotPermitted", "AuthFailure.ServiceLinkedRoleCreationNotPermitted",  # [I]
            "InvalidIamInstanceProfile", "InvalidIamInstanceProfileArn", "InvalidIamInstanceProfileName",  # [E]
        ),
        wordings=(
            r"IAM ?Instance ?Profile|\binstance[- ]profile\b",  # [I]
            r"service[- ]linked role",  # [I]
            r"not authorized to perform|not authorized to use launch|explicit deny|iam:PassRole",  # [E]
            r"\bassum(?:e|ing) (?:the )?role|\brole\b…(?:does not exist|\binvalid\b|not authorized)",
        ),
    ),
    Row(
        FailureClass.UNSUPPORTED,
        Scope.GROUP,
        wordings=(r"\bmarketplace product\b…\bnot (?:currently )?supported",),  # [I] the product has no such type
    ),
    Row(
        FailureClass.LICENCE,
        Scope.GROUP,
        codes=("ProductCode", "InvalidProductInfo", "InvalidLicenseConfiguration", "LicenseConfigurationLimitExceeded"),
        wordings=(
            r"accept (?:the )?terms|AWS Marketplace|marketplace",  # [I]
            r"\blicen[sc]es?\b",
        ),
    ),
    Row(
        FailureClass.SPOT_PRICE,
        Scope.GROUP,
        codes=("SpotMaxPriceTooLow",),  # [E]
        wordings=(
            r"spot (?:request |bid |max(?:imum)? )*price\b…(?:\.\d+…)?\b(?:lower|less|below|too low)\b",  # [D]
            r"\bspot price\b…\b(?:exceed|above|higher|greater)",  # [U]
            r"\bprice-too-low\b|minimum required Spot",  # [U]
        ),
        market=CapacityType.SPOT,
    ),
    Row(
        FailureClass.PLACEMENT_GROUP,
        Scope.GROUP,  # a spread one takes seven instances a zone, whatever the account may run
        wordings=(together(r"\bplacement group\b", QUOTA),),
    ),
    Row(
        FailureClass.SPOT_QUOTA,
        Scope.QUOTA,
        codes=("MaxSpotInstanceCountExceeded", "SpotInstanceCountLimitExceeded", "MaxSpotFleetRequestCountExceeded"),  # [E]
        wordings=(
            r"max(?:imum)? spot (?:instance|request)s? (?:count|limit|quota)",  # [O] [I]
            together(r"\bspot\b", rf"(?:{QUOTA}|\bcount\b)", USED_UP),
            r"\bspot (?:instance |vcpu |request )*(?:limit|quota)\b|maximum number of (?:running )?spot",
        ),
        market=CapacityType.SPOT,
    ),
    Row(
        FailureClass.VCPU_QUOTA,
        Scope.QUOTA,
        codes=("VcpuLimitExceeded", "InstanceLimitExceeded"),  # [E]
        wordings=(
            together(r"\bvCPUs?\b", rf"(?:{QUOTA}|\bexceed)"),  # [I]
            r"maximum number of (?:running )?(?:on-demand )?instances|more (?:running )?instances\b…\b(?:limit|quota)\b",  # [O]
            r"instance\(s\) are already running|\bexceed\w*\b…\brunning\b…\binstances",  # [D]
            r"(?:limit|quota)\b…\brunning\b…\binstances?\b|\brunning\b…\binstances?\b…\b(?:limit|quota)\b",  # [I]
        ),
        market=CapacityType.ON_DEMAND,
    ),
    Row(
        FailureClass.VOLUME_LIMIT,
        Scope.REGION,  # a quota of the region, whatever the group
        codes=("VolumeLimitExceeded", "MaxIOPSLimitExceeded", "VolumeIOPSLimitExceeded", "VolumeTypeLimitExceeded"),  # [E] [R]
        wordings=(
            together(r"\bvolumes?\b", QUOTA, USED_UP),
            r"\bvolume limit\b|\bstorage (?:limit|quota)|\bIOPS (?:limit|quota)",  # [O]
            r"\bmaximum (?:number|amount) of (?:EBS )?(?:volumes|volume storage|gp[23]|io[12])",
            r"\bexceed\w* your maximum\b…\b(?:IOPS|volumes?|storage)\b",
        ),
    ),
    Row(
        FailureClass.OTHER_QUOTA,
        Scope.REGION,
        codes=(
            "NetworkInterfaceLimitExceeded", "AddressLimitExceeded", "MaxFleetCountExceeded", "HostLimitExceeded",
            "CapacityReservationLimitExceeded", "ResourceLimitExceeded",
        ),  # [E]
        wordings=(
            r"quota for maximum Fleet Requests|maximum number of fleets|fleet (?:request )?(?:limit|quota)",  # [I]
            r"maximum number of (?:network interfaces|addresses|elastic)",  # [E]
            r"\bdedicated hosts?\b.{0,200}\b(?:limit|quota|maximum)\b|maximum number of (?:dedicated )?hosts",  # [I]
        ),
    ),
    Row(
        FailureClass.ADDRESSES,
        Scope.ZONE,  # a subnet is of one zone; the group has others
        codes=("InsufficientFreeAddressesInSubnet", "InsufficientCidrBlocks"),  # [E] [I]
        wordings=(
            r"(?:enough|(?:in)?sufficient|no) (?:free |available )+(?:private )?(?:ip |ipv[46] )?(?:address|prefix|cidr)",
            r"\bsubnet\b…\b(?:full|exhausted|out of)\b|(?:not enough|insufficient) cidr blocks",
        ),
    ),
    Row(
        FailureClass.RESERVATION,
        Scope.GROUP,
        codes=(
            "ReservationCapacityExceeded", "InsufficientReservedInstanceCapacity", "InsufficientCapacityBlockCapacity",
            "CapacityReservationExpired", "InvalidCapacityReservation", "InvalidCapacityReservationId",
            "InvalidCapacityReservationState", "InvalidLaunchTargets", "InsufficientReservedInstancesCapacity",
        ),  # [E] [I]
        wordings=(
            r"\breservation\b…\bdoes not have sufficient\b|\bno\b…\bcapacity (?:block|reservation)s?\b",  # [D]
            r"\bcapacity (?:block|reservation)s?\b…\b(?:not|expired|cancelled|ended|exceeded|full|invalid)\b",  # [D]
        ),
        market=CapacityType.RESERVED,
    ),
    Row(
        FailureClass.CAPACITY,
        Scope.GROUP,  # what else is in the placement group is what leaves no room
        wordings=(r"\b(?:in)?sufficient capacity\b…\bplacement group\b",),  # [I]
    ),
    Row(
        FailureClass.ZONAL_CAPACITY,
        Scope.ZONE,
        codes=("InsufficientVolumeCapacity",),  # [E] a volume is of one zone
        wordings=(
            r"\bcapacity\b…\bEBS volume",
            rf"\b(?:in)?sufficient\b(?:{NAMED_TYPE})?…\bcapacity\b…{A_ZONE}(?: you requested)?{NAMED_ZONE}",  # [D]
            rf"\bno capacity\b…{A_ZONE}(?: you requested)?{NAMED_ZONE}",
        ),
    ),
    Row(
        FailureClass.REGIONAL_CAPACITY,
        Scope.OFFERING,  # no zone has it; other types may be there
        wordings=(
            rf"\b(?:in)?sufficient\b(?:{NAMED_TYPE})?…\bcapacity\b…\bin (?:zones|any|all|the region|(?:this|your) region)\b",
            rf"\b(?:in)?sufficient\b(?:{NAMED_TYPE})?…\bcapacity\b…\bin (?:the )?[a-z]{{2}}(?:-[a-z]+)+-\d\b(?![a-z])",
        ),
    ),
    Row(
        FailureClass.SPOT_FULFILMENT,
        Scope.OFFERING,
        codes=("Server.SpotInstanceTermination", "Server.SpotInstanceShutdown"),  # [R]
        wordings=(
            r"no spot capacity\b|spot capacity\b…\b(?:not available|unavailable|insufficient)",  # [D] [I]
            r"\bspot\b…\b(?:not|no longer) (?:enough|sufficient) (?:\S+ )?capacity",  # [U]
            r"\bspot request\b…\bnot fulfilled\b|\bno (?:more )?unused capacity",  # [U] [I]
            r"\bcapacity-(?:not-available|oversubscribed)\b|insufficient spot",  # [U]
            r"\b(?:az|launch)-group-constraint\b|cannot launch all the instances you requested",  # [U]
        ),
        market=CapacityType.SPOT,
    ),
    Row(
        FailureClass.UNSUPPORTED,
        Scope.ZONE,
        codes=("VolumeTypeNotAvailableInZone",),  # [E]
        wordings=(
            rf"(?:\binstance type{NAMED_TYPE}\W+)?(?:is |are )?{NOT_OFFERED}…{A_ZONE}{NAMED_ZONE}",  # [D] [I]
            r"Availability Zone\b…\b(?:no longer supported|(?:does )?not support|constrained)",  # [D]
        ),
    ),
    Row(
        FailureClass.UNSUPPORTED,
        Scope.OFFERING,
        wordings=(
            rf"\binstance type{NAMED_TYPE}…\b{NOT_OFFERED}…\b(?:region|location)\b",
        ),
    ),
    Row(
        FailureClass.IMAGE,
        Scope.GROUP,
        codes=(
            "InvalidAMIID", "InvalidAMIName", "InvalidAMIAttributeItemValue", "InvalidImageId", "ImageNotFound",
            "InvalidManifest", "InvalidKernelId", "InvalidRamDiskId",
        ),  # [E]
        wordings=(
            rf"\b(?:AMI|image)s?\b…{MISSING}",  # [D] [I]
            r"not authorized for images|\ballowed (?:AMI|image)s?\b",  # [I] [E]
            r"\b(?:AMI|image)\b…\bnot (?:allowed|permitted|shared)",  # [E]
            r"\bAMI\b…\bdoes not support\b",  # [E] its provider names the types
            r"\b(?:AMI|image)\b…\b(?:pending|not available|unavailable|disabled|deprecated|invalid|deregistered)\b",  # [D] [I]
            r"\barchitecture\b…\b(?:match|support|compatible)",  # [D] [E]
            r"virtualization type|paravirtual|\bENA\b|boot mode|\bUEFI\b|\bHVM\b",  # [I]
        ),
    ),
    Row(
        FailureClass.SNAPSHOT,
        Scope.GROUP,
        codes=("InvalidSnapshot", "InvalidSnapshotID"),  # [E] [R]
        wordings=(rf"\bsnapshot\b…(?:{MISSING}|not authorized|not completed|is pending)",),
    ),
    Row(
        FailureClass.KEY_PAIR,
        Scope.GROUP,
        codes=("InvalidKeyPair", "InvalidKey"),  # [E]
        wordings=(rf"\bkey ?pair\b…(?:{MISSING}|\binvalid\b)",),  # [D] [I]
    ),
    Row(
        FailureClass.SECURITY_GROUP,
        Scope.GROUP,
        codes=(
            "InvalidGroup", "InvalidGroupId", "InvalidSecurityGroupID", "InvalidSecurityGroup",
            "SecurityGroupsPerInstanceLimitExceeded", "SecurityGroupsPerInterfaceLimitExceeded", "SecurityGroupLimitExceeded",
        ),  # [E]
        wordings=(
            rf"\bsecurity groups?\b…(?:{MISSING}|\binvalid\b|exceed|limit|reached|maximum)",  # [D]
            r"\bsecurity groups?\b…(?:default VPC|same VPC|belong|may not be used)",  # [I]
            r"\b(?:exceed|reach)\w*\b…\bsecurity groups\b",
        ),
    ),
    Row(
        FailureClass.PLACEMENT_GROUP,
        Scope.ZONE,
        codes=("InvalidPlacementGroup.InUse",),  # [I]
        wordings=(r"\bplacement group\b…\b(?:another|other|different) availability zone",),  # [I]
    ),
    Row(
        FailureClass.PLACEMENT_GROUP,
        Scope.GROUP,
        codes=("InvalidPlacementGroup", "PlacementGroupLimitExceeded", "PlacementGroupCountExceeded"),  # [E]
        wordings=(r"\bplacement groups?\b",),  # [D] [I] all that was said of one before is more
    ),
    Row(FailureClass.LOAD_BALANCER, Scope.GROUP, wordings=(r"\bload balancers?\b|\btarget groups?\b",)),  # [D]
    Row(
        FailureClass.NETWORK,
        Scope.GROUP,
        codes=(
            "InvalidSubnet", "InvalidSubnetID", "InvalidNetworkInterface", "InvalidNetworkInterfaceID", "InvalidVpcID",
            "VPCIdNotSpecified", "VPCResourceNotSpecified", "DefaultVpcDoesNotExist", "DefaultSubnetDoesNotExistInAZ",
            "InvalidIPAddress", "InvalidAddress", "InvalidAllocationID",
            "Resource.AlreadyAssigned", "Resource.AlreadyAssociated",
        ),  # [E]
        wordings=(
            rf"\b(?:subnet|network interface|VPC)\b…(?:{MISSING}|in use|\binvalid\b|\brequired\b)",  # [E]
            r"\baddress\b…(?:\bin use\b|\bsubnet's\b|\balready (?:assigned|associated)\b)",  # [I]
            r"\bno subnets?\b|\bno default (?:VPC|subnet)",
            r"\binterface count\b|\bnetwork interfaces?\b…\b(?:limit|maximum|exceed)",  # [I]
        ),
    ),
    Row(
        FailureClass.ACCOUNT,
        Scope.REGION,  # nothing is launched there before somebody has written to AWS
        codes=("PendingVerification", "SubscriptionRequired", "AccountDisabled"),  # [E]
        wordings=(
            r"account\b…\b(?:blocked|suspended|verif|validated|closed)|administratively disabled",  # [I] [E]
            r"\b(?:being|been|is) (?:validated|verified)\b|aws-verification@",  # [I]
            r"not subscribed to this service|region\b…\b(?:not enabled|disabled|opt(?:ed)?[ -]in)",  # [E]
        ),
    ),
    Row(
        FailureClass.ACCOUNT,
        Scope.OFFERING,  # the account may have other types
        wordings=(r"not eligible for free tier|free[ -]tier",),  # [I]
    ),
    Row(
        FailureClass.THROTTLED,
        Scope.GROUP,  # it tries again by itself within seconds; its neighbours need not wait
        codes=(
            "RequestLimitExceeded", "Throttling", "ThrottlingException", "ThrottledException", "RequestThrottled",
            "RequestThrottledException", "TooManyRequestsException", "EC2ThrottledException", "RequestResourceCountExceeded",
            "ResourceCountExceeded",
        ),  # [E]
        wordings=(r"request limit exceeded|rate exceeded|\bthrottl",),  # [I]
    ),
    Row(FailureClass.HOOK, Scope.GROUP, wordings=(r"lifecycle (?:action|hook)",)),  # [I]
    Row(
        FailureClass.TEMPLATE,
        Scope.GROUP,
        codes=(
            "InvalidLaunchTemplateId", "InvalidLaunchTemplateName", "InvalidLaunchTemplateId.VersionNotFound",
            "InvalidUserData", "InvalidDevice", "AttachmentLimitExceeded",
            "PrivateIpAddressLimitExceeded", "InvalidInstanceType", "MissingParameter", "InvalidTenancy",
            "InvalidHostID", "InvalidHostId", "HttpTokensEnforced", "InvalidHostState", "ZonesMismatched",
            "InvalidAvailabilityZone", "InvalidZone", "InvalidAffinity", "InvalidAutoPlacement", "InvalidCpuCredits",
            "InvalidInterface.IpAddressLimitExceeded", "InvalidTagKey", "TagLimitExceeded",
            "UnknownVolumeType", "BootForVolumeTypeUnsupported", "VolumeIOPSLimit",
        ),  # [E]
        wordings=(
            rf"launch (?:template|configuration)s?\b…(?:{MISSING}|\binvalid\b|fully-formed|version)",  # [I]
            r"launch (?:template|configuration)s?\b…\bnot (?:authorized|available)",  # [I]
            r"(?:invalid|unsupported) (?:launch template|user ?data|device name|block device|instance type|parameter)",  # [D]
            r"\bversion\b…\blaunch (?:template|configuration)",
            r"invalid availability zone|\bconstraint-not-fulfillable\b|constraints are not valid",  # [U]
            r"device name\b|block[- ]device|virtualName|\bdeviceName\b|\buser ?data\b",  # [D]
            r"volume of size\b|\bvolume (?:size|type|iops)\b|\biops\b",  # [I]
            r"\bparameter\b…\b(?:invalid|required|missing|not (?:valid|supported|recognized))",  # [E]
            r"\binvalid (?:\S+ )?value\b|\bbad[- ]parameters\b",  # [I] [U]
            r"\bmay not be specified|can ?not be specified|must (?:be specified|specify|contain)",  # [E]
            r"\bcan ?not be used with(?:out)?\b|\byou can ?not specify\b|\bbut not both\b",  # [I]
            r"\bfleet config(?:uration)?\b…\b(?:invalid|duplicate|unsupported)",  # [I]
            r"\bcan only be (?:used|specified|set|modified|changed)\b",  # [I]
            rf"\binstance ?types?\b…(?:{MISSING}|\b(?:invalid|not valid)\b)",  # [I]
            r"\bIMDSv[12]\b|\bhttpTokens\b|\bmetadata options?\b",  # [U] what the account asks of instance metadata
        ),
    ),
    Row(
        FailureClass.CAPACITY,
        Scope.OFFERING,
        codes=(
            "Server.InsufficientInstanceCapacity", "InsufficientHostCapacity", "InsufficientCapacityOnOutpost",
            "InsufficientOutpostCapacity", "InsufficientCapacityOnHost", "IncompatibleHostRequirements",
            "UnavailableHostRequirements",
        ),  # [E] [R] [I]
        wordings=(
            r"insufficient (?:\S+ )?capacity|\bhost\b…\bsufficient capacity",  # [O] [I]
            r"(?:do not|does not|don't) (?:currently )?have (?:sufficient|enough)\b…\bcapacity",
            r"\b(?:not|no longer) (?:enough|sufficient) (?:\S+ )?capacity",  # [U]
            r"\bout of capacity\b|capacity (?:is )?(?:currently )?(?:not available|unavailable)",
        ),
    ),
    Row(
        FailureClass.UNSUPPORTED,
        Scope.GROUP,
        wordings=(
            r"\b(?:not|no longer) (?:currently )?supported\b|\b(?:do(?:es)? not|doesn't) support\b",  # [D] [I]
        ),
    ),
    Row(
        FailureClass.STARTUP,
        Scope.GROUP,
        codes=("Client.InstanceInitiatedShutdown", "Client.InstanceTerminated"),  # [R]
        wordings=(r"instance became unhealthy while waiting\b(?!.*termination reason)",),  # [I] no reason is given
    ),
    Row(
        FailureClass.SERVICE,
        Scope.GROUP,
        codes=(
            "Server.InternalError", "InternalFailure", "ServerInternal", "ServiceUnavailable", "RetryableError",
            "IdempotentParameterMismatch", "IdempotentInstanceTerminated", "RequestExpired", "InvalidSecurity",
            "InvalidInstanceID",
        ),  # [E] [R]
        wordings=(
            r"\binternal (?:error|failure)\b|unexpected (?:system )?error|service (?:is )?(?:currently )?unavailable",  # [E]
            rf"\binstance ID\b…{MISSING}|\btemporary failure\b|\boverloaded\b",  # [E]
        ),
    ),
    Row(
        FailureClass.REBALANCE,
        Scope.ZONE,
        wordings=(r"aid in balancing the group's zones",),  # [D] in the cause of the activity
    ),
)  # fmt: skip
